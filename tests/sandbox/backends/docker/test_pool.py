"""The pool: containers are started in advance, used once, never more than there is capacity for."""

import asyncio
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, cast

import pytest
from docker.models.volumes import Volume

from infra.errors import EngineUnavailableError
from infra.settings import SandboxSettings
from sandbox.backends.docker.engine import Running
from sandbox.backends.docker.pool import ContainerPool
from tests.waiting import eventually


class Line:
    """The connection to a container."""

    def __init__(self, *, is_alive: bool) -> None:
        self.is_alive = is_alive

    def is_open(self) -> bool:
        return self.is_alive

    def close(self) -> None: ...


class Engine:
    """Starts containers that are numbers, and remembers which exist."""

    def __init__(self, is_good: Callable[[int], bool] = lambda _: True) -> None:
        self.alive: set[int] = set()
        self.started: list[tuple[object, str]] = []
        self.most = 0
        self.broken = False
        self.failed = 0
        self.closed = False
        self.owned = self
        self._is_good = is_good
        self._numbers = count()
        self._lock = Lock()

    def start(self, volume: Volume | None, language: str) -> Running:
        with self._lock:
            if self.broken:
                self.failed += 1
                raise EngineUnavailableError("no engine")
            number = next(self._numbers)
            self.started.append((volume, language))
            self.alive.add(number)
            self.most = max(self.most, len(self.alive))
        return Running(cast("Any", number), cast("Any", Line(is_alive=self._is_good(number))))

    def stop(self, running: Running) -> None:
        if self.broken:
            raise EngineUnavailableError("no engine")
        self.alive.remove(number_of(running))

    def remove_own(self) -> int:
        return 0

    def close(self) -> None:
        self.closed = True

    def pool(self, ready: int = 2, slots: int = 2) -> ContainerPool:
        settings = SandboxSettings(slots=slots, ready=ready)
        return ContainerPool(settings, connect=lambda _: cast("Any", self))


def number_of(running: Running) -> int:
    return cast("int", running.container)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test places on the machine that no other process has."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


async def test_containers_wait_ready_after_the_first_was_acquired() -> None:
    engine = Engine()
    pool = engine.pool(ready=2)
    await pool.acquire()
    await eventually(lambda: engine.alive == {0, 1, 2} and not pool._starts)
    await pool.close()
    assert engine.closed


async def test_no_container_is_handed_out_twice() -> None:
    pool = Engine().pool(slots=18)
    acquired = [number_of(await pool.acquire()) for _ in range(10)]
    assert len(set(acquired)) == 10
    await pool.close()


async def test_one_with_packages_or_in_another_language_is_started_for_its_box() -> None:
    engine = Engine()
    pool = engine.pool(ready=1, slots=4)
    await pool.acquire()
    await eventually(lambda: len(engine.started) == 2)
    volume = cast("Any", "packages")
    for options in ({"volume": volume}, {"language": "go"}):
        running = await pool.acquire(**options)
        assert engine.started[number_of(running)] == (
            options.get("volume"),
            options.get("language", "python"),
        )
    assert len(engine.started) == 4, "none of them is replaced"
    await pool.close()


async def test_there_are_never_more_containers_than_room() -> None:
    engine = Engine()
    pool = engine.pool(ready=1, slots=2)

    async def use() -> None:
        running = await pool.acquire()
        await asyncio.sleep(0)
        pool.discard(running)

    await asyncio.gather(*(use() for _ in range(40)))
    await pool.close()
    assert engine.most <= 3
    assert engine.alive == set()


async def test_one_that_went_bad_while_it_waited_is_not_handed_out() -> None:
    engine = Engine(is_good=lambda number: number != 1)
    pool = engine.pool(ready=1)
    assert number_of(await pool.acquire()) == 0
    await eventually(lambda: 1 in engine.alive)
    assert number_of(await pool.acquire()) == 2
    await eventually(lambda: 1 not in engine.alive)
    await pool.close()


async def test_a_failure_while_nobody_waited_is_forgotten() -> None:
    engine = Engine()
    pool = engine.pool()
    engine.broken = True
    with pytest.raises(EngineUnavailableError):
        await pool.acquire()
    await eventually(lambda: engine.failed == 3)
    engine.broken = False
    assert number_of(await pool.acquire()) == 0
    await pool.close()


async def test_failures_give_their_room_back() -> None:
    engine = Engine()
    pool = engine.pool(ready=0, slots=1)
    engine.broken = True
    for _ in range(5):
        with pytest.raises(EngineUnavailableError):
            await asyncio.wait_for(pool.acquire(), 10)
    engine.broken = False
    await asyncio.wait_for(pool.acquire(), 10)
    await pool.close()


async def test_an_engine_that_could_not_be_reached_is_tried_again() -> None:
    engine, tries = Engine(), count()

    def connect(_: SandboxSettings) -> Any:
        if next(tries) == 0:
            raise EngineUnavailableError("no engine")
        return engine

    pool = ContainerPool(SandboxSettings(slots=1, ready=0), connect=connect)
    with pytest.raises(EngineUnavailableError):
        await pool.acquire()
    assert number_of(await pool.acquire()) == 0
    await pool.close()


async def test_what_a_cancelled_taker_waited_for_is_removed() -> None:
    engine = Engine()
    pool = engine.pool(ready=0)
    acquiring = asyncio.create_task(pool.acquire())
    await asyncio.sleep(0)
    acquiring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await acquiring
    await pool.close()
    assert engine.alive == set()


async def test_closing_removes_what_waits_and_what_is_being_started() -> None:
    engine = Engine()
    pool = engine.pool(ready=3)
    pool.discard(await pool.acquire())
    await pool.close()
    assert engine.alive == set()
