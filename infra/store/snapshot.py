"""A copy of the store's database, or of an exported folder, from which pages answer at once.

A writer locks out all readers of a DuckDB file, so pages do not ask it. A `Snapshot` is a
`Database` whose transactions read its own copy: all functions of this folder take it. The copy of a
store has no name on the disk once it is open, so that it is gone with its process.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import duckdb

from infra.settings import StoreSettings
from infra.store.database import Database, Transaction
from infra.store.database_file import (
    SCHEMA,
    SCHEMA_VERSION,
    DatabaseFile,
    State,
    quoted,
    require_version,
)

_NAME = "cosqa"
_MEMORY_MB = 2_000


@dataclass(frozen=True, eq=False)
class Snapshot(Database):
    """The database as it was at one moment; its transactions wait for nobody.

    Attributes:
        connection: The connection whose cursors read it.
        state: That of the store's files when they were copied.
        taken_at: A moment before which all commits are in it.
    """

    connection: duckdb.DuckDBPyConnection
    state: State = ()
    taken_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Yield a transaction of the copy; temporary tables end with it."""
        with closing(self.connection.cursor()) as cursor:
            cursor.execute(f"USE {_NAME}")
            yield Transaction(cursor)

    def is_current(self) -> bool:
        """Return True if nothing was committed since the copy was taken."""
        return self.file.state() == self.state


def take_snapshot(settings: StoreSettings) -> Snapshot:
    """Return a copy of a store's database; writers wait while its bytes are copied.

    Raises:
        StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
        StoreError: The file is no store of this program.
        StoreVersionError: It has another schema version.
    """
    file = DatabaseFile(settings)
    with TemporaryDirectory(dir=settings.folder, prefix="browse-") as folder:
        copy = Path(folder) / file.path.name
        state, taken_at = file.state(), datetime.now(UTC)
        file.copy_bytes_to(copy)
        connection = _connection(settings.folder)
        connection.execute(f"ATTACH {quoted(copy)} AS {_NAME} (TYPE duckdb, READ_ONLY)")
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"USE {_NAME}")
            store_id = require_version(cursor, file.path)
    return Snapshot(settings, store_id, connection, state, taken_at)


def empty_snapshot(folder: Path) -> Snapshot:
    """Return a database in memory without rows, to be filled from an exported folder."""
    connection = _connection(Path(gettempdir()))
    connection.execute(f"ATTACH ':memory:' AS {_NAME}")
    connection.execute(f"USE {_NAME}")
    connection.execute(SCHEMA.read_text(encoding="utf-8"))
    connection.execute("INSERT INTO meta VALUES (?, '')", [SCHEMA_VERSION])
    return Snapshot(StoreSettings(folder=folder), "", connection)


def _connection(folder: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{_MEMORY_MB}MB",
        "temp_directory": str(folder / "browse.tmp"),
    }
    return duckdb.connect(":memory:", config=config)
