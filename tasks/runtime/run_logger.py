"""The logger of the current Prefect run."""

import logging
import time

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger

_LIBRARIES = ("agents", "sandbox", "infra")
_SAME_S = 10.0

Logger = logging.Logger | logging.LoggerAdapter[logging.Logger]


def run_logger(name: str) -> Logger:
    """Return the logger of the current flow or task run; outside of runs, a module's logger.

    On a Ray worker, a run's logger writes to Prefect's server, a module's to Ray's log files.
    """
    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger(name)


def hear_libraries() -> None:
    """Let Prefect's handler have what agents, sandbox and infra log in this worker's process.

    Ray's workers have it by ``PREFECT_LOGGING_EXTRA_LOGGERS``, see `infra.ray`.
    """
    for library in _LIBRARIES:
        logger = logging.getLogger(library)
        logger.setLevel(logging.INFO)
        for handler in logger.handlers:
            handler.addFilter(_one_of_a_kind)


class _OneOfAKind(logging.Filter):
    """Lets records of one line of a library pass at intervals: many pairs meet the same."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, int], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is to be passed on."""
        kind = record.name, record.lineno
        is_of_library = record.name.partition(".")[0] in _LIBRARIES
        if is_of_library and time.monotonic() - self._last.get(kind, -_SAME_S) < _SAME_S:
            return False
        self._last[kind] = time.monotonic()
        return True


_one_of_a_kind = _OneOfAKind()
