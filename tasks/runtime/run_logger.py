"""The logger of the current Prefect run."""

import logging

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger

_LIBRARIES = ("agents", "sandbox", "infra")

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
        logging.getLogger(library).setLevel(logging.INFO)
