"""Frames of JSON, and the state that a program's process and that of the code share by them.

A frame is four bytes of length, big-endian, then JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Collection

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Frame

_LARGEST = 64 * 2**20
_CHUNK = 2**16
_LOADED_BY = ("LD_", "PYTHON")  # variables that decide what code a program loads stay as they are


def write_frame(file: int, frame: Frame) -> None:
    """Write a frame to a file."""
    data = json.dumps(frame).encode()
    data = len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(file, data) :]


def read_frame(file: int, largest: int) -> Frame:
    """Return the next frame of a file.

    Raises:
        EOFError: The file has ended.
        ValueError: It holds no frame, or one of more bytes.
    """
    size = int.from_bytes(_read(file, 4), "big")
    if size > largest:
        raise ValueError("a frame that is too large")
    return json.loads(_read(file, size))  # type: ignore[no-any-return]


def _read(file: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = os.read(file, min(size - len(data), _CHUNK))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


class Channel:
    """One end of the socket between the two processes.

    Args:
        file: Its descriptor.
        shares_random: Whether the state of ``random`` goes to and fro: a program may set it.
        accepts: Parts of the other process's state that this one takes over: folder, environment
            and arguments.
    """

    def __init__(
        self,
        file: int,
        *,
        shares_random: bool,
        accepts: Collection[str] = ("cwd", "environ", "argv"),
    ) -> None:
        self._file = file
        self._accepts = {*accepts, "random"} if shares_random else {*accepts}
        self._sent: Frame = {}

    def send(self, frame: Frame) -> None:
        """Send a frame, with the state that has changed since the last."""
        state: Frame = {"cwd": os.getcwd(), "environ": dict(os.environ), "argv": sys.argv}
        if "random" in self._accepts:
            version, numbers, gauss = random.getstate()
            state["random"] = [version, list(numbers), gauss]
        now: Frame = json.loads(json.dumps(state))
        changed = {name: value for name, value in now.items() if self._sent.get(name) != value}
        self._sent = now
        write_frame(self._file, {**frame, "state": changed})

    def receive(self) -> Frame:
        """Return the next frame, and take over the state sent with it.

        Raises:
            EOFError: The other process has ended.
            ValueError: It sent no frame.
        """
        frame = read_frame(self._file, _LARGEST)
        state = {name: to for name, to in frame.pop("state").items() if name in self._accepts}
        if "cwd" in state:
            os.chdir(state["cwd"])
        if "environ" in state:
            kept = {name: os.environ[name] for name in os.environ if name.startswith(_LOADED_BY)}
            os.environ.clear()
            os.environ.update(state["environ"])
            for name in [name for name in os.environ if name.startswith(_LOADED_BY)]:
                del os.environ[name]
            os.environ.update(kept)
        if "argv" in state:
            sys.argv[:] = map(str, state["argv"])
        if "random" in state:
            version, numbers, gauss = state["random"]
            random.setstate((version, tuple(numbers), gauss))
        self._sent = {**self._sent, **state}
        return frame
