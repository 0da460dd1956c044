"""Processes that tests have started, and whether they have ended."""

import time
from collections.abc import Iterable

import psutil

_POLL_S = 0.1


def is_running(process: psutil.Process) -> bool:
    """Return whether a process is there and no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def still_running(processes: Iterable[psutil.Process], patience_s: float) -> list[psutil.Process]:
    """Return those that have not ended in so many seconds.

    It only looks at them: `psutil.wait_procs` fails on some kernels where a process ends while its
    descriptor is opened.
    """
    alive = [process for process in processes if is_running(process)]
    deadline = time.monotonic() + patience_s
    while alive and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        alive = [process for process in alive if is_running(process)]
    return alive
