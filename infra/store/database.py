"""The transactions of a store, each of which opens and closes its file, and what they read.

A content of any size is read to its end, into temporary tables, before a transaction begins.
"""

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar
from uuid import uuid4

import duckdb
import pyarrow as pa

from infra.collected import Content
from infra.errors import StoreError
from infra.files import OTHER_STORE, space_on
from infra.records import Code, Label, Query, Record
from infra.settings import StoreSettings
from infra.store.database_file import SCHEMA, SCHEMA_VERSION, DatabaseFile

_Row = TypeVar("_Row", bound=Record)
Parameters = Sequence[object] | Mapping[str, object]

_BATCH = 2_048  # rows of a temporary table, which has these columns
_TEXT = pa.string()
_POSITION = {"position": pa.int32()}
_QUERY = dict.fromkeys(Query.model_fields, _TEXT)
_CODE = dict.fromkeys(Code.model_fields, _TEXT) | {
    "first_line": pa.int32(),
    "last_line": pa.int32(),
    "parameters": pa.list_(_TEXT),
}
_LABEL = dict.fromkeys(Label.model_fields, _TEXT) | {"relevance": pa.float64()}


def statements_beside(module: str) -> dict[str, str]:
    """Return name → statement of the file of SQL beside a module's, by its path.

    Each stands behind a line with its name.
    """
    text = Path(module).with_suffix(".sql").read_text("utf-8")
    return dict(re.findall(r"^-- (\w+)\n(.*?)(?=^-- \w+\n|\Z)", text, re.MULTILINE | re.DOTALL))


class Queries(ABC):
    """The forms in which rows of SQL queries are read."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager["Transaction"]:
        """Return a transaction for a ``with``."""

    def rows(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Return all rows."""
        with self.transaction() as tx:
            return tx.connection.execute(sql, parameters).fetchall()

    def column(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Return the values of a query with one column."""
        return [value for (value,) in self.rows(sql, parameters)]

    def dicts(self, sql: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        """Return all rows, each as column → value."""
        with self.transaction() as tx:
            result = tx.connection.execute(sql, parameters)
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def records(self, kind: type[_Row], sql: str, parameters: Parameters = ()) -> list[_Row]:
        """Return all rows, whose columns are the fields of a kind of records."""
        return [kind.model_validate(row) for row in self.dicts(sql, parameters)]

    def record(self, kind: type[_Row], sql: str, parameters: Parameters = ()) -> _Row | None:
        """Return the first row as a record, None where there is no row."""
        return next(iter(self.records(kind, sql, parameters)), None)

    def count(self, sql: str, parameters: Parameters = ()) -> int:
        """Return the first column of the first row as an integer."""
        rows = self.rows(sql, parameters)  # all of them: a result must be read to its end
        return rows[0][0] if rows and isinstance(rows[0][0], int) else 0

    def arrow(self, sql: str, parameters: Parameters = ()) -> pa.Table:
        """Return all rows as Arrow columns."""
        with self.transaction() as tx:
            return tx.connection.sql(sql, params=parameters).to_arrow_table()


@dataclass(frozen=True)
class Transaction(Queries):
    """An open transaction; everything in it is committed together or not at all."""

    connection: duckdb.DuckDBPyConnection

    def transaction(self) -> AbstractContextManager["Transaction"]:
        """Return this transaction, which goes on behind the ``with``."""
        return nullcontext(self)

    def execute(self, sql: str, parameters: Parameters = ()) -> None:
        """Run one statement."""
        self.connection.execute(sql, parameters)

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
class Database(Queries):
    """The store's file, which transactions open; a query has one of its own.

    Attributes:
        settings: The store's folder and time-out.
        store_id: Random id of this store; a new store in the same folder gets another.
    """

    settings: StoreSettings
    store_id: str

    @property
    def file(self) -> DatabaseFile:
        """The DuckDB file."""
        return DatabaseFile(self.settings)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open the file for a ``with``: commit at its end, roll back on an error, always close.

        Raises:
            StoreLockedError: Another process had the file open for longer than ``lock_timeout_s``.
            StoreError: The file is damaged.
            DiskFullError: The disk is full; the transaction has changed nothing.
        """
        with self.space(), self.file.connected() as connection:
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


def open_database(settings: StoreSettings) -> Database:
    """Return the store in a folder; create it if there is none.

    Raises:
        StoreVersionError: The file has another schema version.
        StoreLockedError: Another process has the file open.
        StoreError: The folder cannot be created, or the file is no store of this program.
        DiskFullError: The disk has no room for a store.
    """
    file, folder = DatabaseFile(settings), settings.folder
    if {"?", "\\"} & set(str(folder.absolute())):
        raise StoreError(
            f"the path of the store folder {folder} has a ? or a \\, with which DuckDB would "
            "write elsewhere; choose another with --store"
        )
    with space_on(folder, "choose another folder with --store"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot create the store folder {folder}: {error.strerror}; choose another with "
                "--store"
            ) from error
        with file.connected() as connection:
            connection.begin()
            if connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone() is None:
                connection.execute(SCHEMA.read_text(encoding="utf-8"))
                connection.execute("INSERT INTO meta VALUES (?, ?)", [SCHEMA_VERSION, uuid4().hex])
            store_id = file.store_id(connection)
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


class TempTable:
    """Rows of any number in little memory: written one by one, then read back as Arrow batches.

    Args:
        schema: Column → type.
        folder: Where the file is; it has no name there, so that a killed process leaves nothing.
    """

    def __init__(self, schema: Mapping[str, pa.DataType], folder: Path) -> None:
        self.rows = 0
        self._schema = pa.schema(schema)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by __exit__
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._writer = pa.ipc.new_stream(self._file, self._schema, options=options)
        self._waiting: list[Mapping[str, object]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, row: Mapping[str, object]) -> None:
        """Add a row, column → value."""
        self._waiting.append(row)
        self.rows += 1
        if len(self._waiting) == _BATCH:
            self._write()

    def read(self) -> pa.RecordBatchReader:
        """Return all rows so far, in their order; none can be added afterwards."""
        if self._waiting:
            self._write()
        self._writer.close()
        self._file.seek(0)
        return pa.ipc.open_stream(self._file)

    def _write(self) -> None:
        batch = pa.RecordBatch.from_pylist(self._waiting, schema=self._schema)
        self._writer.write_batch(batch)
        self._waiting = []


class BufferedContent(NamedTuple):
    """A content that was read to its end; the rows of queries and codes have positions."""

    queries: TempTable
    codes: TempTable
    labels: TempTable


@contextmanager
def buffer_to_disk(
    content: Content, folder: Path, advance: Callable[[int], object]
) -> Iterator[BufferedContent]:
    """Read a content into files in a folder, which are gone after the ``with``.

    Args:
        content: What to read.
        folder: Where the files are.
        advance: Called with the number of items that were read since its last call.

    Raises:
        SourceError: See `Content.items`.
    """
    with (
        TempTable(_POSITION | _QUERY, folder) as queries,
        TempTable(_POSITION | _CODE, folder) as codes,
        TempTable(_LABEL, folder) as labels,
    ):
        number = 0
        for number, item in enumerate(content.items(), 1):
            if isinstance(item, Label):
                labels.add(dict(item))
            else:
                table = queries if isinstance(item, Query) else codes
                table.add({"position": table.rows, **dict(item)})
            if not number % _BATCH:
                advance(_BATCH)
        advance(number % _BATCH)
        yield BufferedContent(queries, codes, labels)
