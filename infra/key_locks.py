"""Claims on keys, by which tasks and processes take care not to do one thing twice.

A claim is a lock on one byte of a file, whose place follows from the key, so that a file serves for
any number of keys. The kernel drops it with the process that holds it, however that ends.
"""

import asyncio
import fcntl
import os
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from infra.errors import StoreError

_LOCK = "hhqqi"  # struct flock: type, whence, start, length, process (0 for locks of a descriptor)
_DIGITS = 15  # of a key, hexadecimal: places fit into 60 bits
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
        self._held: set[int] = set()  # by this object, whose claims the kernel does not tell apart

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
            StoreError: The file cannot be opened or locked.
        """
        places = sorted({int(key[:_DIGITS], 16) for key in keys})
        async with AsyncExitStack() as stack:
            for place in places:
                await self._take(place)
                stack.callback(self._drop, place)
            yield

    async def _take(self, place: int) -> None:
        wait_s = _FIRST_LOOK_S
        while place in self._held or not self._lock(fcntl.F_WRLCK, place):
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_LOOK_S)
        self._held.add(place)

    def _drop(self, place: int) -> None:
        self._held.discard(place)
        if self._handle is not None:
            self._lock(fcntl.F_UNLCK, place)

    def _lock(self, kind: int, place: int) -> bool:
        """Set a lock or take it back; return whether nobody else holds it."""
        request = struct.pack(_LOCK, kind, os.SEEK_SET, place, 1, 0)
        try:
            if self._handle is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.fcntl(self._handle, fcntl.F_OFD_SETLK, request)
        except BlockingIOError:
            return False
        except OSError as error:
            raise StoreError(
                f"{self._file} cannot be opened or locked ({error}): make its folder writable, "
                "then run the same command again"
            ) from error
        return True
