"""The logger of the current Prefect run; Prefect is imported where it is asked for one."""

import logging
import sys
from contextvars import Context

_LIBRARIES = ("agents", "sandbox", "infra")

Logger = logging.Logger | logging.LoggerAdapter[logging.Logger]


def get_run_logger() -> Logger:
    """Return the logger of the current flow or task run, as Prefect's function of this name."""
    from prefect.logging import get_run_logger as of_prefect  # noqa: PLC0415 - takes a second

    return of_prefect()


def run_logger(name: str) -> Logger:
    """Return the logger of the current flow or task run; outside of runs, a module's logger.

    On a Ray worker, a run's logger writes to Prefect's server, a module's to Ray's log files.
    """
    if "prefect" not in sys.modules:  # and so there is no run
        return logging.getLogger(name)
    from prefect.exceptions import MissingContextError  # noqa: PLC0415 - see `get_run_logger`

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


def send_logs() -> None:
    """Send what this worker's run has logged: the process may be gone a moment later.

    The service that sends begins anew outside of the run. Prefect keeps a copy of the context in
    which any of its services was started as long as the process, and by it the run's parameters
    and result. So only this service is stopped, where `APILogWorker.drain_all` would stop all.
    """
    from prefect.context import SettingsContext  # noqa: PLC0415 - see `get_run_logger`
    from prefect.logging.handlers import APILogWorker  # noqa: PLC0415

    APILogWorker.instance().drain()
    known = SettingsContext.get()
    if known is None:
        return
    outside = SettingsContext(profile=known.profile, settings=known.settings)

    def start() -> None:
        with outside:
            APILogWorker.instance()

    Context().run(start)
