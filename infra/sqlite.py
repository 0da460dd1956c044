"""SQLite files that many processes share: how they are opened."""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from infra.atomic import sync

_LOCK_TIMEOUT_S = 60.0
_NETWORK = ("nfs", "cifs", "smb", "fuse", "9p", "ceph", "lustre", "gluster", "afs", "beegfs")


def connect(file: Path, synchronous: str = "FULL") -> sqlite3.Connection:
    """Return a connection to a SQLite file that processes share, in autocommit mode.

    Args:
        file: The file; it and its folder are made where they lack.
        synchronous: FULL, where a commit survives a loss of power; NORMAL, where it survives the
            end of the process.

    Raises:
        sqlite3.Error: The file cannot be opened, or is no database.
        OSError: The folder cannot be made.
    """
    if not file.parent.is_dir():
        file.parent.mkdir(parents=True, exist_ok=True)
        sync(file.parent.parent)
    connection = sqlite3.connect(
        file, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    mode = journal_mode(file.parent)
    patiently(lambda: connection.execute(f"PRAGMA journal_mode = {mode}"))
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    return connection


@contextmanager
def unwritten(file: Path) -> Iterator[None]:
    """Let processes that want to write to a SQLite file wait inside the ``with``; they may read.

    Raises:
        sqlite3.Error: The file cannot be opened, is no database, or is locked for too long.
    """
    with closing(connect(file)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def patiently(step: Callable[[], object]) -> None:
    """Do a step on a file again while others have it locked.

    SQLite waits for them by itself, but not where two that read want to write both, as when several
    processes make a new file: then one is refused at once.

    Raises:
        sqlite3.Error: The step fails, or the file is locked for too long.
    """
    started = time.monotonic()
    while True:
        try:
            step()
        except sqlite3.OperationalError as error:
            is_busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() - started > _LOCK_TIMEOUT_S:
                raise
        else:
            return
        time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - spreads retries, no security


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
