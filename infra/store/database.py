"""The DuckDB file and its transactions, each of which opens and closes the file.

A process that has a DuckDB file open for writing locks out all others, readers too. So connections
are not kept: each transaction opens the file, does its work and closes it; if another process has
the file open, it waits for a while.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow as pa

from infra.disk import OTHER_STORE, space_on
from infra.errors import StoreError
from infra.settings import StoreSettings
from infra.store.connections import connected
from infra.store.layout import SCHEMA
from infra.store.versions import SCHEMA_VERSION, has_tables, identity_in
from infra.tracing import span


@dataclass(frozen=True)
class Transaction:
    """An open transaction; everything in it is committed together or not at all."""

    connection: duckdb.DuckDBPyConnection

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run one statement."""
        self.connection.execute(sql, parameters)

    def rows(
        self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[object, ...]]:
        """Return all rows of a SQL query."""
        return self.connection.execute(sql, parameters).fetchall()

    def dicts(
        self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> list[dict[str, object]]:
        """Return all rows of a SQL query, each as column → value."""
        result = self.connection.execute(sql, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def value(self, sql: str, parameters: Sequence[object] = ()) -> object:
        """Return the first column of the first row, None when there is no row."""
        rows = self.rows(sql, parameters)  # all of them: a result must be read to its end
        return rows[0][0] if rows else None

    def count(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Return the first column of the first row as an integer."""
        number = self.value(sql, parameters)
        return number if isinstance(number, int) else 0

    def arrow(self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> pa.Table:
        """Return all rows of a SQL query as Arrow columns."""
        return self.connection.sql(sql, params=parameters).to_arrow_table()

    def limit_memory(self, megabytes: int) -> None:
        """Let DuckDB hold at most so much; what is more goes to files beside the database.

        Without a limit it takes most of what the machine has.
        """
        self.execute("SET enable_progress_bar = false")  # it writes to the terminal
        self.execute(f"SET memory_limit = '{megabytes}MB'")

    @contextmanager
    def table(self, name: str, columns: Mapping[str, Sequence[object]]) -> Iterator[None]:
        """Make ``columns`` a table of that name, as Arrow data, inside the ``with``."""
        with self.stream(name, pa.table({key: list(col) for key, col in columns.items()})):
            yield

    @contextmanager
    def stream(self, name: str, rows: pa.Table | pa.RecordBatchReader) -> Iterator[None]:
        """Make Arrow data a table of that name inside the ``with``; a reader can be read once."""
        self.connection.register(name, rows)
        yield
        self.connection.unregister(name)  # after an error, closing the connection drops it

    def insert(
        self, table: str, rows: Sequence[Mapping[str, object]], *, on_conflict: str = ""
    ) -> None:
        """Append rows to a table; columns are matched by name.

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
    """The store's file, which transactions open.

    Attributes:
        settings: The store's folder and time-out.
        store_id: Random id of this store; a new store in the same folder gets another.
    """

    settings: StoreSettings
    store_id: str

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open the file for a ``with``: commit at its end, roll back on an error, always close.

        Raises:
            StoreLockedError: Another process had the file open for longer than ``lock_timeout_s``.
            StoreError: The file is damaged.
            DiskFullError: The disk is full; the transaction has changed nothing.
        """
        with (
            span("store transaction"),
            self.space(),
            _shared_or_new(self.settings) as connection,
        ):
            connection.begin()
            try:
                yield Transaction(connection)
            except BaseException:
                with suppress(duckdb.Error):  # of a damaged file: closing it is enough
                    connection.rollback()
                raise
            connection.commit()  # DuckDB rolls back by itself where this fails

    def space(self) -> AbstractContextManager[None]:
        """Turn the error of a full disk inside the ``with`` into one that says what to do."""
        return space_on(self.settings.folder, OTHER_STORE)

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Share one connection among the transactions inside the ``with``, which saves 6 ms each.

        For many short reads in a row; other processes have to wait meanwhile.
        """
        with _shared_or_new(self.settings) as connection:
            token = _shared.set((self.settings.database, connection))
            try:
                yield
            finally:
                _shared.reset(token)


# The file and connection of `Database.kept_open`.
_shared: ContextVar[tuple[Path, duckdb.DuckDBPyConnection] | None] = ContextVar(
    "shared", default=None
)


@contextmanager
def _shared_or_new(settings: StoreSettings) -> Iterator[duckdb.DuckDBPyConnection]:
    shared = _shared.get()
    if shared and shared[0] == settings.database:
        yield shared[1]
        return
    with connected(settings) as connection:
        yield connection


def open_database(settings: StoreSettings) -> Database:
    """Return the store in a folder; create it if there is none.

    Raises:
        StoreVersionError: The file has another schema version.
        StoreLockedError: Another process has the file open.
        StoreError: The folder cannot be created, or the file is no store of this program.
        DiskFullError: The disk has no room for a store.
    """
    with space_on(settings.folder, "choose another folder with --store"):
        _make_folder(settings)
        with connected(settings) as connection:
            store_id = _store_id(connection, settings)
    return Database(settings, store_id)


def _make_folder(settings: StoreSettings) -> None:
    if {"?", "\\"} & set(str(settings.folder.absolute())):
        raise StoreError(
            f"the path of the store folder {settings.folder} has a ? or a \\, with which DuckDB "
            "would write elsewhere; choose another with --store"
        )
    try:
        settings.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot create the store folder {settings.folder}: {error.strerror}; choose another "
            "with --store"
        ) from error


def _store_id(connection: duckdb.DuckDBPyConnection, settings: StoreSettings) -> str:
    """Return a store's id; a file without tables becomes a store."""
    connection.begin()
    if not has_tables(connection):
        connection.execute(SCHEMA.read_text(encoding="utf-8"))
        connection.execute("INSERT INTO meta VALUES (?, ?)", [SCHEMA_VERSION, uuid4().hex])
    identity = identity_in(connection, settings.database)
    connection.commit()
    return identity.store_id


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
