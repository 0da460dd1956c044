"""The output of a child: its size, its beginning and its end."""

import _socket
import os
from collections.abc import Callable

_CHUNK = 65_536


def socket_pair() -> tuple[int, int]:
    """Return two connected files; nobody can open them again by ``/proc``, as a pipe's can be."""
    read_end, write_end = _socket.socketpair()
    return read_end.detach(), write_end.detach()


class Stream:
    """One pipe, of whose content the beginning and the end are kept.

    Args:
        keep: Bytes that are kept, half from either end.
        connect: Makes the pipe's two ends, the one to read from first.
    """

    def __init__(self, keep: int, connect: Callable[[], tuple[int, int]] = os.pipe) -> None:
        self.file, self.write_end = connect()
        self.size = 0
        self._half = max(1, keep // 2)
        self._head = bytearray()
        self._tail = bytearray()
        os.set_blocking(self.file, False)

    def read(self) -> bool:
        """Read what is there; return False at the end of the pipe."""
        try:
            data = os.read(self.file, _CHUNK)
        except BlockingIOError:
            return True
        self.size += len(data)
        space = self._half - len(self._head)
        self._head += data[:space]
        self._tail = (self._tail + data[space:])[-self._half :]
        return bool(data)

    def drain(self) -> None:
        """Read the rest of a pipe whose writers have ended, and close it."""
        while self.read():
            pass
        os.close(self.file)

    def content(self) -> bytes:
        """Return the kept part; all that came, where that is no more."""
        return bytes(self._head + self._tail)

    def text(self) -> str:
        """Return the kept part as text; bytes that are none, and NUL, are shown as escapes."""
        left_out = self.size - len(self._head) - len(self._tail)
        if not left_out:
            return _shown(self._head + self._tail)
        return f"{_shown(self._head)}\n… {left_out} more bytes …\n{_shown(self._tail)}"


def _shown(data: bytearray) -> str:
    return data.decode(errors="backslashreplace").replace("\0", "\\x00")
