"""The logger of the present Prefect run."""

import logging

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger


def run_logger(name: str) -> logging.Logger | logging.LoggerAdapter[logging.Logger]:
    """Return the logger of the flow or task run that is going on, else that of a module.

    What it logs on a Ray worker reaches Prefect's server; a module's logger ends in Ray's files.
    """
    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger(name)
