"""SQLite files that many processes share: how they are opened."""

import sqlite3
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
    connection.execute(f"PRAGMA journal_mode = {journal_mode(file.parent)}")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    return connection


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
