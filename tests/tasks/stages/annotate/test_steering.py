"""Laws of steering: what people change by hand reaches a run within seconds, and is said."""

import logging
from pathlib import Path

import pytest

from infra.errors import StoreLockedError
from infra.settings import AnnotationSettings, StoreSettings
from infra.store import Database, open_database
from infra.store.runs import CONTROLS, Controls, current_controls, set_control
from tasks.runtime.pair_queue import Limits
from tasks.stages.annotate import steering
from tasks.stages.annotate.steering import Steering

Steered = tuple[int, Limits, bool]


class Queue:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Steered] = []

    def steer(self, in_flight: int, limits: Limits, *, paused: bool) -> None:
        """Keep what is to hold."""
        self.told.append((in_flight, limits, paused))


class Run:
    """A run whose clock is moved by hand."""

    def __init__(self, database: Database) -> None:
        self.now = 0.0
        self.queue = Queue()
        annotation = AnnotationSettings(in_flight=64)
        self.steering = Steering(database, self.queue, annotation, lambda: self.now)

    def turn(self, after_s: float = 2.0) -> list[Steered]:
        """Let time pass; return what the queue is told."""
        self.now += after_s
        before = len(self.queue.told)
        self.steering.turn()
        return self.queue.told[before:]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(StoreSettings(folder=tmp_path))


@pytest.fixture
def run(database: Database, caplog: pytest.LogCaptureFixture) -> Run:
    caplog.set_level(logging.INFO)
    return Run(database)


def test_without_controls_a_run_is_left_as_it_is(run: Run) -> None:
    assert run.turn() == []
    assert run.steering.in_flight == 64


def test_each_change_is_passed_on_once_and_said_with_who_made_it(
    run: Run, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    set_control(database, "in_flight", 2, "somebody")
    assert run.turn() == [(2, Limits(), False)]
    assert run.turn() == []
    set_control(database, "paused", value=True, set_by="another")
    set_control(database, "requests_per_minute", 30, "somebody")
    set_control(database, "budget_usd", 2.5, "somebody")
    assert run.turn(after_s=1.0) == [], "the store is not opened all the time"
    assert run.turn() == [(2, Limits(30, 2.5), True)]
    assert "paused (by another" in caplog.text
    assert "requests_per_minute: 30 (by somebody" in caplog.text
    for name in CONTROLS:
        set_control(database, name, None)
    assert run.turn() == [(64, Limits(), False)]
    assert "resumed (by " in caplog.text
    assert "in_flight: as in the settings again" in caplog.text


def test_what_was_changed_before_holds_for_the_next_run(database: Database) -> None:
    set_control(database, "paused", value=True)
    assert Run(database).turn(after_s=0) == [(64, Limits(), True)]


def test_a_store_that_is_held_is_looked_at_the_next_time(
    run: Run, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_control(database, "in_flight", 2)

    def held(_: Database) -> Controls:
        raise StoreLockedError("another process has it open")

    with monkeypatch.context() as patched:
        patched.setattr(steering, "current_controls", held)
        assert run.turn() == []
    assert run.turn() == [(2, Limits(), False)]


def test_a_run_begins_by_what_holds_and_waits_for_a_held_store_as_long_as_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(StoreSettings(folder=tmp_path, lock_timeout_s=600))
    set_control(database, "budget_usd", 2.5)
    waits: list[float] = []

    def known(asked: Database) -> Controls:
        waits.append(asked.settings.lock_timeout_s)
        return current_controls(asked)

    def held(asked: Database) -> Controls:
        raise StoreLockedError("another process has it open")

    monkeypatch.setattr(steering, "current_controls", known)
    run = Run(database)
    run.steering.begin()
    assert run.queue.told == [(64, Limits(None, 2.5), False)]
    assert run.turn() == []
    assert waits[0] == 600
    assert waits[1] < 1, "a run that goes on is not held up"
    monkeypatch.setattr(steering, "current_controls", held)
    with pytest.raises(StoreLockedError):
        Run(database).steering.begin()
