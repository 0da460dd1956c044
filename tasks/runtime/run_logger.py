"""The logger of the current Prefect run."""

import logging

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger


def run_logger(name: str) -> logging.Logger | logging.LoggerAdapter[logging.Logger]:
    """Return the logger of the current flow or task run; outside of runs, a module's logger.

    On a Ray worker, a run's logger writes to Prefect's server, a module's to Ray's log files.
    """
    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger(name)
