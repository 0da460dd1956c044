"""The writer of a store.

One flow at a time writes labels, by a lock of the kernel on a file beside the database, which ends
with its process: there is nothing to clean up after a crash. The file has its name, for messages.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from infra.disk import OTHER_STORE, space_on
from infra.errors import StoreBusyError
from infra.locks import locked
from infra.settings import StoreSettings

_LOCK_FILE = "writer.lock"
_PAUSE_S = 0.5


@contextmanager
def writer_lock(settings: StoreSettings, owner: str, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the writer's lock of a store inside the ``with``.

    Args:
        settings: The store.
        owner: Name of the run, for the message to others.
        patience_s: Seconds to wait while another run holds it.

    Raises:
        StoreBusyError: Another run holds it; the message names the run.
    """
    with ExitStack() as lock:
        handle = _take(settings.folder / _LOCK_FILE, lock, patience_s)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        text = f"{owner} (process {os.getpid()} on {socket.gethostname()}, since {since})"
        with space_on(settings.folder, OTHER_STORE):
            os.ftruncate(handle, 0)
            os.pwrite(handle, text.encode(), 0)
        yield


def require_no_writer(settings: StoreSettings) -> None:
    """Refuse a store that a run writes at the moment.

    Raises:
        StoreBusyError: One does; the message names it.
    """
    file = settings.folder / _LOCK_FILE
    if file.exists():
        with ExitStack() as lock:
            _take(file, lock, 0.0)


def _take(file: Path, lock: ExitStack, patience_s: float) -> int:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return lock.enter_context(locked(file, wait=False))
        except BlockingIOError:
            if time.monotonic() >= deadline:
                owner = file.read_text("utf-8", errors="replace") or "a run that has just begun"
                raise StoreBusyError(
                    f"the store {file.parent} is being written by {owner}: wait for that run or "
                    "end it, then try again, or use another store with --store"
                ) from None
        time.sleep(_PAUSE_S)
