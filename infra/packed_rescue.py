"""Damaged packed files: how it is noticed, and what can be read of them."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

_READABLE = (  # where sectors of a file are zeros, SQLite reads NULL
    "SELECT key, content FROM packed WHERE typeof(key) = 'blob' AND typeof(content) = 'blob' "
    "ORDER BY number"
)
_ALL_ROWS = (_READABLE, f"{_READABLE} DESC")


def check(connection: sqlite3.Connection) -> None:
    """Read a whole file, and compare its index with the table.

    Raises:
        sqlite3.DatabaseError: The file is damaged.
    """
    (found,) = connection.execute("PRAGMA integrity_check (1)").fetchone()
    if found != "ok":
        error = sqlite3.DatabaseError(found)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def readable_rows(file: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows before the first damaged place, and those after the last one."""
    for statement in _ALL_ROWS:
        try:
            connection = sqlite3.connect(file)
            yield from connection.execute(statement)
        except sqlite3.Error:
            continue
        return
