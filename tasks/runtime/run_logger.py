"""The logger of the current Prefect run."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.logging.handlers import APILogWorker

_LIBRARIES = ("agents", "sandbox", "infra")
_SENT_WITHIN_S = 5.0
_SAME_S = 10.0  # a message of one kind is passed on once in so long

Logger = logging.Logger | logging.LoggerAdapter[logging.Logger]


def run_logger(name: str) -> Logger:
    """Return the logger of the current flow or task run; outside of runs, a module's logger.

    On a Ray worker, a run's logger writes to Prefect's server, a module's to Ray's log files.
    """
    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger(name)


@contextmanager
def libraries_logged(name: str) -> Iterator[None]:
    """Pass what agents, sandbox and infra log inside the ``with`` on to the current run's log.

    On a Ray worker it would reach Ray's log files alone, which nobody reads who looks at the run.
    At the end, also after an error, the log is sent: the worker may be gone a moment later.

    Args:
        name: The module's name, for a call outside of runs.
    """
    handler = _PassOn(run_logger(name))
    loggers = [logging.getLogger(library) for library in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
        APILogWorker.drain_all(timeout=_SENT_WITHIN_S)


class _PassOn(logging.Handler):
    """Passes records on to a run's logger, those of one kind at intervals."""

    def __init__(self, to: Logger) -> None:
        super().__init__(logging.INFO)
        self._to = to
        self._last: dict[tuple[str, int], float] = {}
        self._left_out: dict[tuple[str, int], int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a record on, with how many of its kind were left out since the last one."""
        kind = record.name, record.lineno
        if time.monotonic() - self._last.get(kind, float("-inf")) < _SAME_S:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return
        self._last[kind] = time.monotonic()
        left_out = self._left_out.pop(kind, 0)
        more = f" (and {left_out:,} more like it)" if left_out else ""
        self._to.log(record.levelno, "%s%s", record.getMessage(), more)
