"""The pool: items are made in advance, used once, never more than there is capacity for."""

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from infra.errors import EngineUnavailableError
from sandbox.backends.docker.pool import Pool


class Places:
    """Gives out so many places at once."""

    def __init__(self, free: int) -> None:
        self._free = free

    def reserve(self) -> "Places | None":
        if not self._free:
            return None
        self._free -= 1
        return self

    def release(self) -> None:
        self._free += 1


class Maker:
    """Makes numbers, and remembers which exist."""

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.most = 0
        self.broken = False
        self._numbers = count()

    async def make(self) -> int:
        await asyncio.sleep(0)
        if self.broken:
            raise EngineUnavailableError("no engine")
        number = next(self._numbers)
        self.alive.add(number)
        self.most = max(self.most, len(self.alive))
        return number

    async def remove(self, number: int) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise EngineUnavailableError("no engine")
        self.alive.remove(number)

    def pool(
        self, ready: int = 2, capacity: int = 4, is_good: Callable[[int], bool] = lambda _: True
    ) -> Pool[int]:
        places = Places(ready)
        return Pool(self.make, self.remove, is_good, reserve=places.reserve, capacity=capacity)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_items_wait_ready_after_the_first_was_taken() -> None:
    maker = Maker()
    pool = maker.pool(ready=2)
    await pool.take()
    await settle()
    assert maker.alive == {0, 1, 2}
    await pool.close()


async def test_no_item_is_handed_out_twice() -> None:
    maker = Maker()
    pool = maker.pool(capacity=20)
    taken = [await pool.take() for _ in range(10)]
    assert len(set(taken)) == 10
    await pool.close()


async def test_there_are_never_more_items_than_room() -> None:
    maker = Maker()
    pool = maker.pool(ready=1, capacity=3)

    async def use() -> None:
        item = await pool.take()
        await asyncio.sleep(0)
        pool.discard(item)

    await asyncio.gather(*(use() for _ in range(40)))
    await pool.close()
    assert maker.most <= 3
    assert maker.alive == set()


async def test_an_item_that_went_bad_while_it_waited_is_not_handed_out() -> None:
    maker = Maker()
    pool = maker.pool(is_good=lambda number: number != 1)
    assert [await pool.take(), await pool.take()] == [0, 2]
    await settle()
    assert 1 not in maker.alive
    await pool.close()


async def test_a_failure_while_nobody_waited_is_forgotten() -> None:
    maker = Maker()
    pool = maker.pool()
    maker.broken = True
    with pytest.raises(EngineUnavailableError):
        await pool.take()
    await settle()
    maker.broken = False
    assert await pool.take() == 0
    await pool.close()


async def test_failures_give_their_room_back() -> None:
    maker = Maker()
    pool = maker.pool(ready=0, capacity=1)
    maker.broken = True
    for _ in range(5):
        with pytest.raises(EngineUnavailableError):
            await asyncio.wait_for(pool.take(), 1)
    maker.broken = False
    await asyncio.wait_for(pool.take(), 1)
    await pool.close()


async def test_what_a_cancelled_taker_waited_for_is_removed() -> None:
    maker = Maker()
    pool = maker.pool(ready=0)
    taking = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    await pool.close()
    assert maker.alive == set()


async def test_closing_removes_what_waits_and_what_is_being_made() -> None:
    maker = Maker()
    pool = maker.pool(ready=3, capacity=5)
    pool.discard(await pool.take())
    await pool.close()
    assert maker.alive == set()
