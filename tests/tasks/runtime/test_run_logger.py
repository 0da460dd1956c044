"""Laws of a run's log: it has what libraries say, without a flood."""

import logging
from collections.abc import Iterator

import pytest

from tasks.runtime import run_logger
from tasks.runtime.run_logger import hear_libraries


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


def test_what_libraries_log_is_passed_on_one_of_a_kind_at_a_time(
    monkeypatch: pytest.MonkeyPatch, kept: Kept
) -> None:
    log = logging.getLogger("agents.llm.client")
    hear_libraries()
    for number in range(4):
        if number == 3:
            monkeypatch.setattr(run_logger, "_SAME_S", 0.0)
        log.info("retry %s", number)
    log.warning("no price")
    log.debug("a detail")
    assert kept.said == ["retry 0", "retry 3", "no price"]


def test_what_a_run_says_itself_is_always_passed_on(kept: Kept) -> None:
    hear_libraries()
    own = logging.getLogger("prefect.task_runs.of-this-test")
    own.propagate = False
    own.addHandler(kept)
    for number in range(3):
        own.warning("pair %s", number)
    assert kept.said == ["pair 0", "pair 1", "pair 2"]
