"""Laws of claims on keys: one holder at a time, among tasks, objects and processes."""

import asyncio
import multiprocessing
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from infra.errors import UnrecordableError
from infra.key_locks import Claims

KEYS = ["fa18bde7d67817e65b32", "0" * 20, "f" * 20]


async def test_a_key_has_one_holder_at_a_time_among_tasks_and_objects(tmp_path: Path) -> None:
    claims = [Claims(tmp_path / "claims") for _ in range(2)]
    holders: list[int] = []

    async def hold(number: int) -> None:
        keys = KEYS if number % 2 else KEYS[::-1]  # in either order
        async with claims[number % 2].on(keys):
            holders.append(number)
            await asyncio.sleep(0.001)
            holders.append(number)

    await asyncio.gather(*(hold(number) for number in range(8)))
    assert sorted(holders[::2]) == list(range(8))
    assert holders[::2] == holders[1::2]


async def test_other_keys_are_free(tmp_path: Path) -> None:
    mine, theirs = Claims(tmp_path / "claims"), Claims(tmp_path / "claims")
    async with asyncio.timeout(60), mine.on(KEYS[:1]), theirs.on(KEYS[1:]):
        pass


async def test_a_holder_that_fails_or_is_cancelled_gives_its_claim_up(tmp_path: Path) -> None:
    mine, theirs = Claims(tmp_path / "claims"), Claims(tmp_path / "claims")
    for error in (KeyError(), asyncio.CancelledError()):
        with pytest.raises(type(error)):
            async with mine.on(KEYS):
                raise error
    async with asyncio.timeout(60), theirs.on(KEYS):
        waiting = asyncio.create_task(mine.on(KEYS).__aenter__())
        await asyncio.sleep(0.05)
        waiting.cancel()
    async with asyncio.timeout(60), theirs.on(KEYS), Claims(tmp_path / "other").on(KEYS):
        pass


def _hold_for_ever(file: Path, is_held: Event) -> None:
    async def hold() -> None:
        async with Claims(file).on(KEYS):
            is_held.set()
            time.sleep(60)  # noqa: ASYNC251 - it is killed

    asyncio.run(hold())


async def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    is_held = context.Event()
    holder = context.Process(target=_hold_for_ever, args=(tmp_path / "claims", is_held))
    holder.start()
    assert await asyncio.to_thread(is_held.wait, 60)
    mine = Claims(tmp_path / "claims")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), mine.on(KEYS[:1]):
            pass
    holder.kill()
    async with asyncio.timeout(60), mine.on(KEYS):
        pass
    holder.join()


async def test_a_file_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnrecordableError, match="make its folder writable"):
        async with Claims(tmp_path / "file" / "claims").on(KEYS):
            pass


def test_what_is_in_flight_is_seen_by_others_and_by_oneself(tmp_path: Path) -> None:
    mine, theirs, third = (Claims(tmp_path / "claims") for _ in range(3))
    assert mine.is_idle("model")
    with mine.in_flight("model"):
        with mine.in_flight("model"), theirs.in_flight("model"):
            assert not any(claims.is_idle("model") for claims in (mine, theirs, third))
            assert third.is_idle("other")
        assert not any(claims.is_idle("model") for claims in (mine, theirs, third))
    assert all(claims.is_idle("model") for claims in (mine, theirs, third))


def _in_flight_for_ever(file: Path, is_shown: Event) -> None:
    with Claims(file).in_flight("model"):
        is_shown.set()
        time.sleep(60)


async def test_nothing_of_a_killed_process_is_in_flight(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    is_shown = context.Event()
    shower = context.Process(target=_in_flight_for_ever, args=(tmp_path / "claims", is_shown))
    shower.start()
    assert await asyncio.to_thread(is_shown.wait, 60)
    mine = Claims(tmp_path / "claims")
    assert not mine.is_idle("model")
    shower.kill()
    shower.join()
    assert mine.is_idle("model")
