"""The runner in a container: the command line that starts it, and the exchange of JSON frames.

The command line carries the runner's sources into the container. No image needs to be built anew
when a line of ``sandbox/inside`` changes, nothing is mounted from the host, and a remote engine
needs nothing else.

The engine sends a container's output in packets: one byte for the stream (1 stdout, 2 stderr),
three of padding, four of length, big-endian, then the bytes. Inside its stdout the runner sends
frames: four bytes of length, then JSON.
"""

import contextlib
import json
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from infra.errors import BoxLostError

PACKET_HEADER = 8
_FRAME_HEADER = 4
STDERR = 2
_KEPT_STDERR = 2000
_INSIDE = Path(__file__).parents[2] / "inside"
_TESTS = ("python2", "seccomp", "clock", "failures", "collection", "run_tests")
_VALUES = ("library_values", "values", "frames")
_CHILD = (*_TESTS, *_VALUES, "proxy", "child")
_SERVICE = (*_TESTS, *_VALUES, "service")
_RUNNER = (
    "instrumentation", "processes", "interpreters", "runner",
)  # fmt: skip

# A child that needs an interpreter of its own gets the code that the runner has compiled, and so
# does the code under test where it is isolated from the program. Names are cleared before either
# runs: its frames lead to this one. The built-ins of each module are a copy, so that a program that
# replaces one replaces its own.
_BOOT = f"""
import builtins, marshal, os, sys, types
if sys.argv[1] == "child":
    codes, argument = marshal.loads(open(0, "rb", closefd=False).read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
else:
    pairs = zip(sys.argv[2::2], sys.argv[3::2])
    codes = [(name, compile(source, "sandbox.inside." + name, "exec")) for name, source in pairs]
    argument = [[pair for pair in codes if pair[0] in names] for names in {(_CHILD, _SERVICE)!r}]
    codes = [pair for pair in codes if pair[0] != "service"]
    del pairs
for name in ("sandbox", "sandbox.inside"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
for name, code in codes:
    name = "sandbox.inside." + name
    module = sys.modules[name] = types.ModuleType(name)
    vars(module)["__builtins__"] = dict(vars(builtins))
    exec(code, vars(module))
start = module.prepare if sys.argv[1] == "child" else module.serve
holder = [argument]
del builtins, marshal, os, sys, types, name, code, module, codes, argument
run = start(holder.pop())
del start, holder
run()
"""


class Closable(Protocol):
    """An object that can be closed."""

    def close(self) -> None:
        """Close it."""
        ...


class Channel:
    """The host's end of the connection to a runner. Blocking: to be used from a worker thread.

    Args:
        connection: The socket that the engine gave for the container's streams.
        owner: The object that keeps the socket open, closed with it.
        longest_frame: Bytes of the longest frame that is taken; objects made of JSON need many
            times its length.
    """

    def __init__(self, connection: socket.socket, owner: Closable, longest_frame: int) -> None:
        self._connection = connection
        self._owner = owner
        self._longest_frame = longest_frame
        self._deadline = 0.0
        self.is_clean = True  # nothing is left of what ran at the other end
        self._stdout = bytearray()
        self._stderr = bytearray()

    def ask(self, job: Mapping[str, object], timeout_s: float) -> dict[str, object]:
        """Send a job and return the answer.

        Raises:
            BoxLostError: The runner is gone, exceeds the time, or breaks the protocol.
        """
        data = json.dumps(job).encode()
        self.is_clean = False
        try:
            self._connection.settimeout(timeout_s)
            self._connection.sendall(len(data).to_bytes(_FRAME_HEADER, "big") + data)
        except OSError as error:
            raise BoxLostError(f"sending the job failed: {error}") from error
        answer = self.receive(timeout_s)
        self.is_clean = answer.get("clean") is True
        return answer

    def receive(self, timeout_s: float) -> dict[str, object]:
        """Return the runner's next frame; errors as in ``ask``."""
        self._deadline = time.monotonic() + timeout_s
        size = int.from_bytes(self._take(_FRAME_HEADER), "big")
        if size > self._longest_frame:
            raise BoxLostError(f"the box announced a frame of {size} bytes, which no report has")
        try:
            answer = json.loads(self._take(size))
        except (ValueError, RecursionError) as error:
            raise BoxLostError(f"the box sent a frame that is not JSON: {error}") from error
        if not isinstance(answer, dict):
            raise BoxLostError("the box sent a frame that is not a JSON object")
        return answer

    def is_open(self) -> bool:
        """Return True if the runner is connected and has sent nothing yet."""
        try:
            self._connection.settimeout(0)
            return bool(self._connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Close the connection, which also wakes a thread that waits for an answer."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._owner.close()

    def _take(self, size: int) -> bytes:
        while len(self._stdout) < size:
            header = self._exactly(PACKET_HEADER)
            data = self._exactly(int.from_bytes(header[4:], "big"))
            if header[0] == STDERR:
                self._stderr = (self._stderr + data)[-_KEPT_STDERR:]
            else:
                self._stdout += data
        taken = bytes(self._stdout[:size])
        del self._stdout[:size]
        return taken

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise BoxLostError("the box did not answer in time")
            self._connection.settimeout(left)
            try:
                received = self._connection.recv(min(size - len(data), 65_536))
            except TimeoutError:
                continue
            except OSError as error:
                raise BoxLostError(f"the connection to the box broke: {error}") from error
            if not received:
                output = self._stderr.decode(errors="replace").strip()
                raise BoxLostError(f"the box vanished in mid-run{': ' if output else ''}{output}")
            data += received
        return bytes(data)


def boot_command() -> list[str]:
    """Return the container's command: an interpreter, the boot text, the modules in order."""
    modules = (*_CHILD, "service", *_RUNNER)
    texts = [(_INSIDE / f"{name}.py").read_text() for name in modules]
    sources = [word for pair in zip(modules, texts, strict=True) for word in pair]
    return ["python3", "-P", "-s", "-u", "-c", _BOOT, "runner", *sources]
