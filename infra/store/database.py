"""The DuckDB file: made, checked and opened for one short transaction at a time.

A process that holds a DuckDB file open for writing locks out all others, readers too. So nobody
keeps a connection: each transaction opens the file, does its work and closes it, and waits a while
when somebody else is doing the same.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow as pa

from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.settings import StoreSettings
from infra.store.migrations import UPGRADES

SCHEMA_VERSION = 3
_SCHEMA = Path(__file__).with_name("schema.sql")
_LOCK_MESSAGE = "Could not set lock on file"


@dataclass(frozen=True)
class Transaction:
    """An open transaction; everything in it is committed together or not at all."""

    connection: duckdb.DuckDBPyConnection

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run one statement."""
        self.connection.execute(sql, parameters)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Return all rows of a query."""
        return self.connection.execute(sql, parameters).fetchall()

    def dicts(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, object]]:
        """Return all rows of a query, each as column → value."""
        result = self.connection.execute(sql, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def value(self, sql: str, parameters: Sequence[object] = ()) -> object:
        """Return the first column of the first row, None when there is no row."""
        row = self.connection.execute(sql, parameters).fetchone()
        return None if row is None else row[0]

    def count(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Return the first column of the first row as an integer."""
        found = self.value(sql, parameters)
        return int(found) if isinstance(found, int) else 0

    @contextmanager
    def table(self, name: str, columns: Mapping[str, Sequence[object]]) -> Iterator[None]:
        """Let SQL see ``columns`` as a table of that name, by Arrow, inside the ``with``."""
        self.connection.register(name, pa.table({key: list(col) for key, col in columns.items()}))
        yield
        self.connection.unregister(name)  # after an error the closing connection forgets it

    def insert(
        self, table: str, rows: Sequence[Mapping[str, object]], *, on_conflict: str = ""
    ) -> None:
        """Append rows to a table by Arrow; columns are matched by name.

        Args:
            table: An existing table.
            rows: Column → value, the same columns in each row.
            on_conflict: ``"ignore"`` keeps rows whose key is already there.
        """
        if not rows:
            return
        names = list(rows[0])
        verb = "INSERT OR IGNORE" if on_conflict == "ignore" else "INSERT"
        columns = {name: [row[name] for row in rows] for name in names}
        with self.table("incoming", columns):
            listed = ", ".join(names)
            self.execute(f"{verb} INTO {table} ({listed}) SELECT {listed} FROM incoming")  # noqa: S608


@dataclass(frozen=True)
class Database:
    """The store's file, by which transactions are opened.

    Attributes:
        settings: Where the store is.
        store_id: Names this very store; another one in the same folder has another.
    """

    settings: StoreSettings
    store_id: str

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open the file, commit on a clean end, roll back on an error, close in either case.

        Raises:
            StoreLockedError: Another process held the file for longer than ``lock_timeout_s``.
        """
        with _shared_or_new(self.settings) as connection:
            connection.begin()
            try:
                yield Transaction(connection)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Let the transactions inside the ``with`` share one connection, each 20 ms sooner.

        For many short reads in a row: other processes wait meanwhile.
        """
        with _shared_or_new(self.settings) as connection:
            token = _shared.set((self.settings.database, connection))
            try:
                yield
            finally:
                _shared.reset(token)


# The connection that `Database.kept_open` holds, and its file.
_shared: ContextVar[tuple[Path, duckdb.DuckDBPyConnection] | None] = ContextVar(
    "shared", default=None
)


@contextmanager
def _shared_or_new(settings: StoreSettings) -> Iterator[duckdb.DuckDBPyConnection]:
    shared = _shared.get()
    if shared and shared[0] == settings.database:
        yield shared[1]
        return
    with _connected(settings) as connection:
        yield connection


def open_database(settings: StoreSettings) -> Database:
    """Return the store of that folder, made when there is none, brought up to date if it is older.

    Raises:
        StoreVersionError: The file was made by a schema version that this program cannot read.
        StoreLockedError: Another process holds the file.
        StoreError: The folder cannot be made, or the file is no store of ours.
    """
    try:
        settings.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot create the store folder {settings.folder}: {error.strerror}; choose another "
            "with --store"
        ) from error
    with _connected(settings) as connection:
        connection.begin()
        if not _has_tables(connection):
            connection.execute(_SCHEMA.read_text(encoding="utf-8"))
            connection.execute("INSERT INTO meta VALUES (?, ?)", [SCHEMA_VERSION, uuid4().hex])
        store_id = _checked_identity(connection, settings.database)
        connection.commit()
    return Database(settings, store_id)


def require_store(settings: StoreSettings) -> None:
    """Refuse a folder that holds no store, for work that needs what earlier runs made.

    Raises:
        StoreError: There is no store; the message says how to make or name one.
    """
    if not settings.database.is_file():
        raise StoreError(
            f"there is no store at {settings.folder}: run `cosqa collect` first, or name one with "
            "--store"
        )


def _has_tables(connection: duckdb.DuckDBPyConnection) -> bool:
    return connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone() is not None


def _checked_identity(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    try:
        row = connection.execute("SELECT schema_version, store_id FROM meta").fetchone()
    except duckdb.CatalogException:
        row = None
    if row is None:
        raise StoreError(
            f"{file} is a DuckDB file but not a store of this program; choose another folder "
            "with --store"
        )
    version, store_id = row
    while version in UPGRADES:
        connection.execute(UPGRADES[version])
        version += 1
        connection.execute("UPDATE meta SET schema_version = ?", [version])
    if version != SCHEMA_VERSION:
        raise StoreVersionError(
            f"{file} has schema version {version}, this program reads version {SCHEMA_VERSION}; "
            "use the release that made it, or choose another folder with --store (replies of "
            "models in its 'replies' folder can be copied over and are not paid again)"
        )
    return str(store_id)


@contextmanager
def _connected(settings: StoreSettings) -> Iterator[duckdb.DuckDBPyConnection]:
    deadline = time.monotonic() + settings.lock_timeout_s
    while True:
        try:
            connection = duckdb.connect(str(settings.database))
            break
        except duckdb.IOException as error:
            if _LOCK_MESSAGE not in str(error):
                raise StoreError(f"cannot open {settings.database}: {error}") from error
            if time.monotonic() >= deadline:
                raise StoreLockedError(
                    f"{settings.database} has been locked by another process for "
                    f"{settings.lock_timeout_s:g} s; end it or wait for it, then try again: {error}"
                ) from None
            time.sleep(random.uniform(0.02, 0.2))  # noqa: S311 - spreads contenders, guards nothing
    try:
        yield connection
    finally:
        connection.close()
