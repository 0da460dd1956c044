"""Frames between a program's process and that of the code under test, and what surrounds a call."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Collection

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than a job may take
if TYPE_CHECKING:
    from typing import Any

    Frame = dict[str, Any]

_LARGEST = 64 * 2**20
_CHUNK = 2**16
_LOADED_BY = ("LD_", "PYTHON")  # variables that decide what code a program loads stay as they are


class Channel:
    """One end of the socket between the two processes.

    Args:
        file: Its descriptor.
        shares_chance: Whether the state of ``random`` goes to and fro: a program may set it.
        heeds: What this process takes over of the other's surroundings: folder, environment and
            arguments.
    """

    def __init__(
        self, file: int, *, shares_chance: bool, heeds: Collection[str] = ("cwd", "environ", "argv")
    ) -> None:
        self._file = file
        self._heeds = {*heeds, "chance"} if shares_chance else {*heeds}
        self._told: Frame = {}

    def send(self, frame: Frame) -> None:
        """Send a frame, with what has changed around it since the last."""
        now = self._surroundings()
        around = {name: value for name, value in now.items() if self._told.get(name) != value}
        self._told = now
        data = json.dumps({**frame, "around": around}).encode()
        data = len(data).to_bytes(4, "big") + data
        while data:
            data = data[os.write(self._file, data) :]

    def receive(self) -> Frame:
        """Return the next frame, and take over what surrounds it.

        Raises:
            EOFError: The other process has ended.
            ValueError: It sent no frame.
        """
        size = int.from_bytes(self._read(4), "big")
        if size > _LARGEST:
            raise ValueError("a frame that is too large")
        frame = json.loads(self._read(size))
        around = {name: to for name, to in frame.pop("around").items() if name in self._heeds}
        if around:
            self._surround(around)
            self._told = {**self._told, **around}
        return frame  # type: ignore[no-any-return]

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = os.read(self._file, min(size - len(data), _CHUNK))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _surroundings(self) -> Frame:
        around: Frame = {"cwd": os.getcwd(), "environ": dict(os.environ), "argv": sys.argv}
        if "chance" in self._heeds:
            version, state, gauss = random.getstate()
            around["chance"] = [version, list(state), gauss]
        return json.loads(json.dumps(around))  # type: ignore[no-any-return]

    def _surround(self, around: Frame) -> None:
        if "cwd" in around:
            os.chdir(around["cwd"])
        if "environ" in around:
            kept = {name: os.environ[name] for name in os.environ if name.startswith(_LOADED_BY)}
            os.environ.clear()
            os.environ.update(around["environ"])
            for name in [name for name in os.environ if name.startswith(_LOADED_BY)]:
                del os.environ[name]
            os.environ.update(kept)
        if "argv" in around:
            sys.argv[:] = map(str, around["argv"])
        if "chance" in around:
            version, state, gauss = around["chance"]
            random.setstate((version, tuple(state), gauss))
