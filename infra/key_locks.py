"""Claims on keys, by which tasks and processes take care not to do one thing twice.

A claim is a lock on one byte of a file, whose place follows from the key, so that a file serves for
any number of keys. Bytes behind these tell what is in flight. The kernel drops a lock with the
process that holds it, however that ends.
"""

import asyncio
import fcntl
import os
import struct
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from infra.errors import UnrecordableError
from infra.identity import mark

_LOCK = "hhqqi"  # struct flock: type, whence, start, length, process (0 for locks of a descriptor)
_DIGITS = 15  # of a key, hexadecimal: places fit into 60 bits
_IN_FLIGHT = 16**_DIGITS  # the first place behind those of keys
_FIRST_LOOK_S = 0.02
_LONGEST_LOOK_S = 0.5


class Claims:
    """Claims on keys (hexadecimal digits), in a file that any number of processes share.

    Args:
        file: The file; made by the first claim, it stays empty.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None
        self._held: Counter[int] = Counter()  # here, where the kernel does not tell them apart

    def close(self) -> None:
        """Drop all claims; the next one opens the file again."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @asynccontextmanager
    async def on(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Hold the claims on keys inside the ``async with``, after those who hold them now.

        All take them in one order, so that none waits for another in a circle.

        Raises:
            UnrecordableError: The file cannot be opened or locked.
        """
        places = sorted({int(key[:_DIGITS], 16) for key in keys})
        async with AsyncExitStack() as stack:
            for place in places:
                await self._take(place)
                stack.callback(self._drop, place)
            yield

    @contextmanager
    def in_flight(self, name: str) -> Iterator[None]:
        """Let others know inside the ``with`` that something of that name is in flight.

        Raises:
            UnrecordableError: The file cannot be opened or locked.
        """
        place = _place_of(name)
        self._lock(fcntl.F_RDLCK, place)
        self._held[place] += 1
        try:
            yield
        finally:
            self._held[place] -= 1
            if not self._held[place]:
                self._drop(place)

    def is_idle(self, name: str) -> bool:
        """Return whether nothing of that name is in flight; errors as in `in_flight`."""
        place = _place_of(name)
        return not self._held[place] and self._lock(fcntl.F_WRLCK, place, fcntl.F_OFD_GETLK)

    async def _take(self, place: int) -> None:
        wait_s = _FIRST_LOOK_S
        while not self._try(place):
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_LOOK_S)

    def _try(self, place: int) -> bool:
        if self._held[place] or not self._lock(fcntl.F_WRLCK, place):
            return False
        self._held[place] = 1
        return True

    def _drop(self, place: int) -> None:
        del self._held[place]
        if self._handle is not None:
            self._lock(fcntl.F_UNLCK, place)

    def _lock(self, kind: int, place: int, command: int = fcntl.F_OFD_SETLK) -> bool:
        """Set a lock, take it back, or look for one; return whether nobody else holds it."""
        request = struct.pack(_LOCK, kind, os.SEEK_SET, place, 1, 0)
        try:
            if self._handle is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
            found = fcntl.fcntl(self._handle, command, request)
        except BlockingIOError:
            return False
        except OSError as error:
            raise UnrecordableError(
                f"{self._file} cannot be opened or locked ({error}): make its folder writable, "
                "then run the same command again"
            ) from error
        return command == fcntl.F_OFD_SETLK or struct.unpack(_LOCK, found)[0] == fcntl.F_UNLCK


def _place_of(name: str) -> int:
    place: int = _IN_FLIGHT + int(mark(name)[:_DIGITS], 16)
    return place
