"""Upkeep of packed stores: the condition of files, copies, removal of old entries, packing."""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from infra.errors import DiskFullError, StoreError
from infra.packed import PackedStore, prepare
from infra.packed_files import files_of, first_of
from infra.packed_rescue import readable_rows
from infra.sqlite import connect, journal_mode, unwritten

_STEP_PAGES = 1_024  # of a snapshot, between which others may write
_ADD = "INSERT OR IGNORE INTO packed (key, content, kept_at) VALUES (?, ?, strftime('%s', 'now'))"


class Condition(NamedTuple):
    """The condition of a file.

    Attributes:
        entries: Number of entries.
        unreadable: Those whose content is damaged.
        problem: What is wrong with the file; "" for nothing.
    """

    entries: int
    unreadable: int
    problem: str


class Old(NamedTuple):
    """Entries that are old enough to go, and the bytes that they take."""

    entries: int
    size: int


def packed_stores(folder: Path) -> list[PackedStore]:
    """Return the packed stores of a folder, by name."""
    firsts = {first_of(file) for file in folder.glob("*.sqlite")}
    stores = [PackedStore(first) for first in sorted(firsts)]
    return [store for store in stores if store.file.exists() and _is_packed(store.file)]


def replaced_files(store: PackedStore) -> list[Path]:
    """Return the damaged files whose place the store's file has taken, first ones first."""
    return files_of(first_of(store.file))[:-1]


def condition_of(store: PackedStore, *, thorough: bool) -> Condition:
    """Return the condition of a store's file.

    Args:
        store: The store.
        thorough: Whether to read every entry.
    """
    try:
        with closing(connect(store.file)) as connection:
            (entries,) = connection.execute("SELECT count(*) FROM packed").fetchone()
            if not thorough:
                return Condition(entries, 0, "")
            (found,) = connection.execute("PRAGMA integrity_check (1)").fetchone()
            contents = connection.execute("SELECT content FROM packed")
            unreadable = sum(not _is_readable(content) for (content,) in contents)
            return Condition(entries, unreadable, "" if found == "ok" else found)
    except sqlite3.Error as error:
        return Condition(0, 0, str(error))


def snapshot(file: Path, target: Path, beside: Callable[[], object] | None = None) -> None:
    """Write a consistent copy of a SQLite file that others may write to meanwhile.

    Args:
        file: The file.
        target: The copy.
        beside: Copies what must be of the same moment: others that want to write to the file wait.

    Raises:
        StoreError: The file is damaged or the copy cannot be written.
        DiskFullError: The disk of the copy has no room.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        _explained(file, target),
        closing(connect(file)) as source,
        closing(sqlite3.connect(target)) as to,
        unwritten(file) if beside else nullcontext(),
    ):
        if beside:
            beside()
        if journal_mode(file.parent) == "WAL":  # without it, others would have to wait
            source.execute("BEGIN")
            source.execute("SELECT 1 FROM sqlite_master").fetchall()  # else each write restarts it
        source.backup(to, pages=_STEP_PAGES, sleep=0.001)
        to.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it


def add_missing(store: PackedStore, copy: Path) -> None:
    """Add to a copy of a store the entries that it lacks, as far as they can be read.

    Args:
        store: The store, which may be damaged.
        copy: The file, which is made where it lacks and which nobody else has open.

    Raises:
        StoreError: The copy cannot be written.
        DiskFullError: Its disk has no room.
    """
    copy.parent.mkdir(parents=True, exist_ok=True)
    with _explained(copy), closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        prepare(connection)
        connection.execute("BEGIN")
        connection.executemany(_ADD, readable_rows(store.file))
        connection.execute("COMMIT")


def find_old(store: PackedStore, before: datetime, needed: Iterable[str]) -> Old:
    """Return the entries that were kept before a moment and are not needed.

    Args:
        store: The store.
        before: The moment.
        needed: Keys of the entries that stay however old they are.

    Raises:
        StoreError: The file is damaged.
    """
    with _explained(store.file), closing(connect(store.file)) as connection:
        _mark_old(connection, before, needed)
        row = connection.execute(
            "SELECT count(*), coalesce(sum(length(content)), 0) FROM packed JOIN old USING (number)"
        ).fetchone()
        return Old(*row)


def remove_old(store: PackedStore, before: datetime, needed: Iterable[str]) -> None:
    """Remove what `find_old` finds; errors as there."""
    with store.locked(), _explained(store.file), closing(connect(store.file)) as connection:
        _mark_old(connection, before, needed)
        connection.execute("DELETE FROM packed WHERE number IN (SELECT number FROM old)")


def _mark_old(connection: sqlite3.Connection, before: datetime, needed: Iterable[str]) -> None:
    """Make a temporary table ``old`` of the numbers of old entries."""
    prepare(connection)
    connection.execute("CREATE TEMP TABLE needed (key BLOB PRIMARY KEY) WITHOUT ROWID")
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT OR IGNORE INTO needed VALUES (?)", ((bytes.fromhex(key),) for key in needed)
    )
    connection.execute("COMMIT")
    connection.execute(
        "CREATE TEMP TABLE old AS SELECT number FROM packed WHERE kept_at < ? "
        "AND key NOT IN (SELECT key FROM needed)",
        [int(before.timestamp())],
    )


def _is_packed(file: Path) -> bool:
    """Return whether a file holds a packed store, or is too damaged to tell."""
    try:
        with closing(connect(file)) as connection:
            found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'packed'")
            return found.fetchone() is not None
    except sqlite3.Error:
        return True


def _is_readable(content: object) -> bool:
    try:
        zlib.decompress(content)  # type: ignore[arg-type]
    except (zlib.error, TypeError):
        return False
    return True


@contextmanager
def _explained(file: Path, written: Path | None = None) -> Iterator[None]:
    """Turn errors of a file into one that says what to do.

    Args:
        file: The file.
        written: Another one that is written, if not the file itself.
    """
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
            raise DiskFullError(
                f"the disk of {written or file} is full: what was there before is unchanged; make "
                "room there, then run the same command again"
            ) from error
        raise StoreError(
            f"{file} cannot be read or written ({error}): make room there; if it is damaged, the "
            "next run that uses it saves what can be read"
        ) from error
