"""SQLite files that many processes share: how they are opened."""

import logging
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

_WARNING_S, _LOCK_TIMEOUT_S = 10.0, 300.0  # a large journal is copied in a minute
_NETWORK = ("nfs", "cifs", "smb", "fuse", "9p", "ceph", "lustre", "gluster", "afs", "beegfs")

_log = logging.getLogger(__name__)


def connect(file: Path) -> sqlite3.Connection:
    """Return a connection to a SQLite file that processes share, in autocommit mode.

    Raises:
        sqlite3.Error: The file cannot be opened, or is no database.
    """
    connection = sqlite3.connect(
        file, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    mode = journal_mode(file.parent)
    patiently(lambda: connection.execute(f"PRAGMA journal_mode = {mode}"), file)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def begin(connection: sqlite3.Connection, file: Path) -> None:
    """Begin a transaction that writes; errors as in `patiently`.

    SQLite's own wait for its turn sleeps ever longer, up to a tenth of a second.
    """
    connection.execute("PRAGMA busy_timeout = 0")
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), file)
    connection.execute(f"PRAGMA busy_timeout = {1_000 * _LOCK_TIMEOUT_S:.0f}")


def patiently(step: Callable[[], object], file: Path) -> None:
    """Do a step on a file again while other processes have it locked.

    SQLite waits for them by itself, but not where two that read want to write both, as when several
    processes open a new file: then one is refused at once.

    Raises:
        sqlite3.Error: The step fails, or the file is locked for too long.
    """
    started, has_warned = time.monotonic(), False
    while True:
        try:
            step()
        except sqlite3.OperationalError as error:
            waited_s = time.monotonic() - started
            is_busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or waited_s >= _LOCK_TIMEOUT_S:
                raise
        else:
            return
        if waited_s >= _WARNING_S and not has_warned:
            has_warned = True
            _log.warning("waiting for a process that has locked %s for %.0f s", file, waited_s)
        time.sleep(random.uniform(0.001, 0.004))  # noqa: S311 - spreads retries, no security


def journal_mode(folder: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """Return SQLite's journal mode for a folder: a write-ahead log, but not on a network's disk.

    The log's index is shared memory, which several machines cannot share.

    Args:
        folder: The folder.
        mounts: The table of mounted file systems, in Linux's form.
    """
    place, kind = folder.resolve(), ""
    if not mounts.is_file():
        return "WAL"
    deepest = -1
    for line in mounts.read_text("utf-8", errors="replace").splitlines():
        _, point, file_system, *_ = line.split(" ")
        mounted = Path(point.replace("\\040", " "))
        if len(mounted.parts) >= deepest and place.is_relative_to(mounted):
            deepest, kind = len(mounted.parts), file_system
    return "TRUNCATE" if kind.startswith(_NETWORK) else "WAL"
