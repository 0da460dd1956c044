"""Laws of a run's log: it has what libraries log."""

import logging
from collections.abc import Iterator

import pytest

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


def test_libraries_log_is_passed_on_without_details(kept: Kept) -> None:
    log = logging.getLogger("agents.llm.client")
    hear_libraries()
    log.info("retry")
    log.warning("no price")
    log.debug("a detail")
    assert kept.said == ["retry", "no price"]
