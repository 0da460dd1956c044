"""Laws of a run's log, which has what libraries log, and of what the Prefect UI shows of a stage.

A progress bar ends no run, and artifacts have keys that Prefect takes.
"""

import logging
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from uuid import UUID, uuid4

import pytest
from prefect import artifacts

from infra.errors import StoreLockedError
from tasks.runtime import progress
from tasks.runtime.progress import artifact_key, hear_libraries


def test_a_prefect_server_that_takes_no_progress_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []

    def gone(_artifact: object, progress: float, description: str) -> None:
        tries.append(progress)
        raise ConnectionError("no server")

    monkeypatch.setattr(artifacts, "create_progress_artifact", lambda **_: uuid4())
    monkeypatch.setattr(artifacts, "update_progress_artifact", gone)
    monkeypatch.setattr(progress, "run_logger", logging.getLogger)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    with progress.progress("key", "pairs judged", 4) as bar:
        bar.advance(1)
        bar.advance(1)  # no second try at once: the client waits long for a server
    assert tries == [25.0, 50.0], "at the first failure, and at the end"
    assert "no server" in caplog.text
    with (
        pytest.raises(StoreLockedError, match="held"),
        progress.progress("key", "pairs judged", 4),
    ):
        raise StoreLockedError("held")


def test_a_bar_that_the_server_does_not_take_is_made_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[float] = []

    def create(progress: float, **_: str) -> UUID:
        made.append(progress)
        if len(made) == 1:
            raise ConnectionError("no server")
        return uuid4()

    monkeypatch.setattr(artifacts, "create_progress_artifact", create)
    monkeypatch.setattr(progress, "run_logger", logging.getLogger)
    with progress.progress("key", "pairs judged", 4) as bar:
        bar.report()  # no second try at once
        bar.done = 4
    assert made == [0.0, 100.0]
    assert "no server" in caplog.text


def test_a_thread_that_counts_for_a_stage_reports_in_its_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = ContextVar[str]("run")
    monkeypatch.setattr(progress, "run_logger", lambda _: logging.getLogger(run.get()))
    caplog.set_level(logging.INFO)
    run.set("of this run")
    with ThreadPoolExecutor(1) as threads, progress.progress("", "codes searched", 4) as bar:
        threads.submit(bar.report).result()
    assert {record.name for record in caplog.records} == {"of this run"}


class Clock:
    """A clock that goes on where it is told to."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(progress, "run_logger", logging.getLogger)
    return clock


def left_s(caplog: pytest.LogCaptureFixture) -> float:
    """Return the seconds left that the last line tells."""
    told = caplog.records[-1].message.partition("about ")[2]
    units = {"h": 3600, "min": 60, "s": 1}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([\d.]+) (h|min|s)", told))


@pytest.mark.parametrize(
    ("silent_s", "burst", "every_s", "items"),
    [
        (0, 0, 1.0, 1),
        (45, 0, 0.5, 1),  # workers start
        (0, 600, 1.0, 1),  # replies that are known already come at once
        (20, 0, 5.0, 64),  # batches
        (0, 0, 25.0, 1),  # a judge with a slow model
    ],
)
def test_after_two_minutes_the_time_left_is_right_to_a_factor_of_two(
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    silent_s: float,
    burst: int,
    every_s: float,
    items: int,
) -> None:
    caplog.set_level(logging.INFO)
    steps = 2_000
    counter = progress.Progress("texts", burst + steps * items)
    clock.now += silent_s
    begun = clock.now
    if burst:
        counter.advance(burst)
    for step in range(1, steps // 2):
        clock.now = begun + step * every_s
        counter.advance(items)
        if clock.now - begun > max(120.0, 3 * every_s):
            counter.report()
            assert 0.5 < left_s(caplog) / ((steps - step) * every_s) < 2


def test_a_pace_follows_what_is_done_now(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    counter = progress.Progress("pairs", 10_000)
    for step in range(400):
        clock.now += 1.0
        counter.advance(10 if step < 300 else 1)
    assert ", 60 a minute" in caplog.records[-1].message


def test_a_pace_is_never_told_as_nothing(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    counter = progress.Progress("pairs", 10)
    clock.now += 40.0
    counter.report()
    counter.advance(1)
    for _ in range(90):
        clock.now += 20.0
        counter.report()
    counter.trouble = "no reply from 127.0.0.1:8799 for 1800 s"
    counter.report()
    told = [record.message for record in caplog.records]
    assert told[0] == "0 of 10 pairs, none in 40.0 s"
    assert told[-2] == "1 of 10 pairs, 0.033 a minute, about 4 h 36 min left"
    assert told[-1].endswith("a minute, 9 wait: no reply from 127.0.0.1:8799 for 1800 s")
    assert not any("0.0 a minute" in line for line in told)


def test_all_progress_tells_its_rate_a_minute_and_time_left_until_the_end(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for total in (None, 5000):
        counter = progress.Progress("things", total)
        clock.now += 12.0
        counter.advance(1)
        counter.report(at_end=True)
    messages = [record.message for record in caplog.records]
    assert all("a minute" in message for message in messages)
    assert [message.endswith(" left") for message in messages] == [False, False, True, False]


class Kept(logging.Handler):
    """Stands for the handler that Prefect adds to loggers that it is told of."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.said.append(record.getMessage())


@pytest.fixture
def kept() -> Iterator[Kept]:
    handler, logger = Kept(), logging.getLogger("agents")
    level = logger.level
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_libraries_log_is_passed_on_without_details(kept: Kept) -> None:
    log = logging.getLogger("agents.llm.client")
    hear_libraries()
    log.info("retry")
    log.warning("no price")
    log.debug("a detail")
    assert kept.said == ["retry", "no price"]


def test_names_become_keys_that_prefect_takes() -> None:
    assert artifact_key("funnel", "Python Source (3.11)") == "funnel-python-source-3-11"
    assert artifact_key("judged", "ümläut_x") == "judged-ml-ut-x"
    assert artifact_key("judged", "…") == "judged-unnamed"
