"""A pool of items that are made in advance, used once and removed in the background."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from infra.errors import SandboxError

_log = logging.getLogger(__name__)

Item = TypeVar("Item")


class Place(Protocol):
    """A place for an item that waits."""

    def release(self) -> None:
        """Leave it."""
        ...


class Pool(Generic[Item]):
    """Gives out fresh items, while the next ones are made.

    Back-pressure comes from capacity: an item takes of it from before it is made until after it is
    removed, so that slow removals hold up making, and nothing piles up.

    Args:
        make: Makes an item.
        remove: Removes an item in any state.
        is_good: Whether an item that waited can still be used.
        reserve: Takes a place for one more item that waits; None where there is none.
        capacity: How many items may exist at once; more than may wait.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[Item]],
        remove: Callable[[Item], Awaitable[None]],
        is_good: Callable[[Item], bool],
        *,
        reserve: Callable[[], Place | None],
        capacity: int,
    ) -> None:
        self._make = make
        self._remove = remove
        self._is_good = is_good
        self._reserve = reserve
        self._is_open = True
        self._capacity = asyncio.Semaphore(capacity)
        self._prepared: deque[tuple[asyncio.Task[Item], Place]] = deque()
        self._makings: set[asyncio.Task[Item]] = set()
        self._removals: set[asyncio.Task[None]] = set()

    async def take(self) -> Item:
        """Return an item, waiting for one to be made where none is ready.

        Raises:
            SandboxError: It could not be made. Errors of items made in advance are ignored.
        """
        while self._prepared:
            making, place = self._prepared.popleft()
            place.release()
            try:
                item = await self._claim(making)
            except SandboxError:
                continue
            if self._is_good(item):
                self._refill()
                return item
            self.discard(item)
        making = self._start_making(self._make)
        self._refill()
        return await self._claim(making)

    async def make(self, make: Callable[[], Awaitable[Item]]) -> Item:
        """Return an item that is made in its own way; errors as in ``take``."""
        return await self._claim(self._start_making(make))

    def discard(self, item: Item) -> asyncio.Task[None]:
        """Remove an item in the background; the task ends when it is gone, and raises nothing."""
        removal = asyncio.create_task(self._unmake(item))
        self._removals.add(removal)
        removal.add_done_callback(self._removals.discard)
        return removal

    async def close(self) -> None:
        """Remove all items that wait; return when they are gone."""
        self._is_open = False
        while self._prepared or self._makings or self._removals:
            pending = [making for making, _ in self._prepared]
            for _, place in self._prepared:
                place.release()
            self._prepared.clear()
            for making in pending:
                making.add_done_callback(self._discard_when_made)
            await asyncio.wait({*pending, *self._makings, *self._removals})
            await asyncio.sleep(0)  # the callbacks above add their removals

    def _refill(self) -> None:
        while self._is_open and (place := self._reserve()) is not None:
            self._prepared.append((self._start_making(self._make), place))

    def _start_making(self, make: Callable[[], Awaitable[Item]]) -> asyncio.Task[Item]:
        making = asyncio.create_task(self._make_within_capacity(make))
        self._makings.add(making)
        making.add_done_callback(self._makings.discard)
        return making

    async def _claim(self, making: asyncio.Task[Item]) -> Item:
        """Wait for an item; one whose claimant was cancelled is removed when it is made."""
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(self._discard_when_made)
            raise

    def _discard_when_made(self, made: asyncio.Task[Item]) -> None:
        if not made.cancelled() and made.exception() is None:
            self.discard(made.result())

    async def _make_within_capacity(self, make: Callable[[], Awaitable[Item]]) -> Item:
        await self._capacity.acquire()
        try:
            return await make()
        except BaseException:
            self._capacity.release()
            raise

    async def _unmake(self, item: Item) -> None:
        try:
            await self._remove(item)
        except SandboxError as error:
            _log.warning("a box could not be removed now; it is removed at the end: %s", str(error))
        finally:
            self._capacity.release()
