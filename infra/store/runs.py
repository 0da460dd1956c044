"""The writer of a store.

One flow at a time writes labels, by a lock of the kernel on a file beside the database, which goes
with the process that holds it, however that ends: there is nothing to clean up after a crash. Who
holds it stands in the file, for messages.
"""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from infra.disk import OTHER_STORE, space_on
from infra.errors import StoreBusyError
from infra.locks import locked
from infra.settings import StoreSettings

_LEASE_FILE = "writer.lock"
# `lease_holder` has the lock for an instant, which must not be taken for a writer.
_GLANCE_S = 0.25
_PAUSE_S, _LONG_PAUSE_S = 0.05, 1.0


@dataclass(frozen=True)
class Holder:
    """Who holds a store's lease.

    Attributes:
        name: The run, as people know it.
        host: Name of its machine.
        pid: Its process on that machine.
        since: When it took the lease, in ISO 8601.
    """

    name: str
    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        if not self.pid:
            return self.name
        return f"{self.name} (process {self.pid} on {self.host}, since {self.since})"


@contextmanager
def writer_lease(settings: StoreSettings, holder: str, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the store's lease inside the ``with``.

    Args:
        settings: The store.
        holder: Name of the run, for the message to others.
        patience_s: Seconds to wait while another run holds it.

    Raises:
        StoreBusyError: Another run holds it; the message names the run.
    """
    with ExitStack() as lock:
        handle = _take(settings.folder / _LEASE_FILE, lock, max(patience_s, _GLANCE_S))
        since = datetime.now(UTC).isoformat(timespec="seconds")
        told = Holder(holder, socket.gethostname(), os.getpid(), since)
        with space_on(settings.folder, OTHER_STORE):
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(asdict(told)).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)


def lease_holder(settings: StoreSettings) -> Holder | None:
    """Return who holds the store's lease, None if nobody does."""
    file = settings.folder / _LEASE_FILE
    if not file.is_file():
        return None
    try:
        with locked(file, wait=False, shared=True):
            return None
    except BlockingIOError:
        return _named_in(file)


def _take(file: Path, lock: ExitStack, patience_s: float) -> int:
    deadline = time.monotonic() + patience_s
    pause_s = _PAUSE_S
    while time.monotonic() < deadline:
        try:
            return lock.enter_context(locked(file, wait=False))
        except BlockingIOError:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONG_PAUSE_S)
    raise StoreBusyError(
        f"the store {file.parent} is being written by {_named_in(file)}: wait for that run or end "
        "it, then try again, or use another store with --store"
    )


def _named_in(file: Path) -> Holder:
    """Return the holder that a lease's file names; one without a process while it is written.

    The file of a process that was killed names it until the next one takes the lease.
    """
    try:
        return Holder(**json.loads(file.read_bytes()))
    except (ValueError, TypeError):
        return Holder("a run that has just begun", host="", pid=0, since="")
