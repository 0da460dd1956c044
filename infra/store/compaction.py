"""Compaction: a database and packed stores written anew, without the room of deleted rows.

A DuckDB file does not shrink. The new one takes its place once every table has the same rows.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import duckdb

from infra.disk import OTHER_STORE, free_bytes, space_on
from infra.errors import DiskFullError, StoreError
from infra.packed_upkeep import pack, packed_stores
from infra.settings import StoreSettings
from infra.store.connections import alone, quoted
from infra.store.copies import replacement

_MB = 2**20
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY table_name"


class Compacted(NamedTuple):
    """A file that was written anew, and its bytes before and afterwards."""

    file: Path
    before: int
    after: int


def compact(
    settings: StoreSettings, report: Callable[[str], object] = lambda _: None
) -> Iterator[Compacted]:
    """Write a store's database and packed stores anew; yield what became of each.

    The database is open to nobody else meanwhile, who wait.

    Args:
        settings: A store of this release.
        report: Called with a sentence before each step.

    Raises:
        DiskFullError: The disk has no room for the copy; the store is as it was.
        StoreLockedError: Another process has the database open.
        StoreError: A file is damaged; it is as it was.
    """
    with space_on(settings.folder, OTHER_STORE):
        yield _compact_database(settings, report)
        for store in packed_stores(settings.replies):
            report(f"packing {store.file.name}")
            before = _size(store.file)
            _require_room(store.file, before)
            pack(store)
            yield Compacted(store.file, before, _size(store.file))


def _compact_database(settings: StoreSettings, report: Callable[[str], object]) -> Compacted:
    file = settings.database
    with alone(settings):
        before = _size(file)
        _require_room(file, 2 * before)  # the copy and, at most, its log
        with replacement(file) as new:
            with closing(duckdb.connect()) as connection:
                _attach(connection, file, new)
                report("copying the database")
                connection.execute("COPY FROM DATABASE earlier TO later")
                connection.execute("CHECKPOINT later")  # at close it would fail without a word
                report("comparing the copy with it")
                _require_equal(connection)
            report("putting it in place")
        return Compacted(file, before, _size(file))


def _attach(connection: duckdb.DuckDBPyConnection, file: Path, new: Path) -> None:
    connection.execute("SET enable_progress_bar = false")  # it writes to the terminal
    connection.execute(f"SET temp_directory = {quoted(new.with_name(f'{new.name}.tmp'))}")
    connection.execute(f"ATTACH {quoted(file)} AS earlier (READ_ONLY)")
    connection.execute(f"ATTACH {quoted(new)} AS later")


def _require_equal(connection: duckdb.DuckDBPyConnection) -> None:
    """Compare all rows of all tables, in any order."""
    tables, copied = (
        connection.execute(_TABLES, [name]).fetchall() for name in ("earlier", "later")
    )
    if tables != copied:
        raise StoreError("the copy of the database has other tables: nothing was changed")
    for (table,) in tables:
        before, after = (
            connection.execute(
                "SELECT count(*), sum(hash(t)::HUGEINT % 1000000007) "  # noqa: S608 - their names
                f"FROM {name}.{table} AS t"
            ).fetchone()
            for name in ("earlier", "later")
        )
        if before != after:
            raise StoreError(
                f"{table} of the copy has {after} (rows, digest) instead of {before}: nothing was "
                "changed; run `cosqa store check`"
            )


def _require_room(file: Path, size: int) -> None:
    free = free_bytes(file.parent)
    if free < size:
        raise DiskFullError(
            f"{file} is written anew beside itself, which takes at most {size / _MB:,.0f} MiB "
            f"where {free / _MB:,.0f} MiB are free: nothing was changed; free some space, then "
            "run the same command again"
        )


def _size(file: Path) -> int:
    """Return the bytes of a file and of the log beside it."""
    logs = (file.with_name(f"{file.name}{suffix}") for suffix in ("", ".wal", "-wal"))
    return sum(log.stat().st_size for log in logs if log.exists())
