"""The DuckDB file and its transactions, each of which opens and closes the file.

A process that has a DuckDB file open for writing locks out all others, readers too. So connections
are not kept: each transaction opens the file, does its work and closes it; if another process has
the file open, it waits for a while.

Damage of the file, which DuckDB finds by checksums when it opens the file and when it reads a
block, is a `StoreError` that says what to do; a file of another schema is refused.
"""

import fcntl
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

import duckdb
import pyarrow as pa

from infra.disk import OTHER_STORE, is_disk_full, space_on
from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.records import Record
from infra.settings import StoreSettings

SCHEMA_VERSION = 19  # of `schema.sql`


def require_version(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    """Return the id of a store that this program can read.

    Raises:
        StoreError: The file is no store of this program.
        StoreVersionError: It has another schema version.
    """
    if foreign := connection.execute(_FOREIGN).fetchone():
        raise StoreError(
            f"{file} is no store of this program: its {foreign[0]!r} is no table, and may read "
            "other files; choose another folder with --store"
        )
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
    if version != SCHEMA_VERSION:
        raise StoreVersionError(
            f"{file} has schema version {version}, this program reads version {SCHEMA_VERSION}: "
            "collect again into another folder with --store, or use the release that made it "
            "(copy its journal.sqlite there first: replies are not paid for again)"
        )
    return str(store_id)


SCHEMA = Path(__file__).with_name("schema.sql")

# What no store has, and what a query would run without a word.
_FOREIGN = """
    SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
    UNION ALL
    SELECT function_name FROM duckdb_functions() WHERE database_name = current_database()
"""
_NAME = "cosqa"  # of the file as a catalog, the same for every reader
_LOCK_MESSAGE = "Could not set lock on file"
_INTERRUPTED = "Query interrupted"  # what DuckDB makes of the exception of a signal
_WARNING_S = 10.0
_COPIED_AT_ONCE = 1 << 24
_WAYS_OUT = (
    "; `cosqa store check` says what is damaged; move the store away and run `cosqa store restore "
    "BACKUP` to have a backup in its place"
)
_LOG_BEGINS = b"\x64\x00\x62"  # a write-ahead log: field 100, the kind of its first record, is 98
# What damage is to DuckDB, besides errors without a class of their own. A statement that is wrong
# or breaks a constraint raises others.
_DAMAGE = (
    duckdb.IOException,
    duckdb.SerializationException,
    duckdb.InternalException,
    duckdb.FatalException,
)

# DuckDB refuses a file that another thread of this process is about to close.
_turn_of_threads = threading.RLock()
_log = logging.getLogger(__name__)
_Row = TypeVar("_Row", bound=Record)
_Result = TypeVar("_Result")
State = tuple[tuple[int, int], ...]
Parameters = Sequence[object] | Mapping[str, object]


class DatabaseFile:
    """The DuckDB file of a store, which one process at a time may have open.

    Args:
        settings: The store's folder and time-out.

    Attributes:
        path: The file.
        log: Its write-ahead log, which need not be there.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self.path = settings.database
        self.log = self.path.with_name(f"{self.path.name}.wal")
        self._timeout_s = settings.lock_timeout_s

    @contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file for a ``with``; make it where it lacks.

        Raises:
            StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
            StoreError: It cannot be opened, or is damaged.
        """
        with self._translated_errors(), _turn_of_threads, ExitStack() as stack:
            yield self._when_free(partial(self._open, stack))

    def copy_to(self, target: Path) -> None:
        """Write a copy of the database, as it is at one moment, to a new file.

        Raises:
            StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
            StoreError: It cannot be opened, or is damaged.
            StoreVersionError: It has another schema version.
        """
        with self.connected() as connection:
            require_version(connection, self.path)
            connection.execute(f"ATTACH {quoted(target)} AS copy (TYPE duckdb)")
            try:
                connection.execute(f"COPY FROM DATABASE {_NAME} TO copy")
            finally:
                connection.execute("DETACH copy")

    def copy_bytes_to(self, target: Path) -> None:
        """Copy the file and its log, byte by byte, while no process writes.

        Writers wait meanwhile: 1 GB takes about a second.

        Raises:
            StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
            OSError: It cannot be read, or the copy not written.
        """
        # Threads of this process have no file open meanwhile: closing one drops their locks, too.
        with _turn_of_threads, self.path.open("rb") as source:
            # DuckDB's kind of lock; closing releases it.
            self._when_free(partial(self._share, source))
            with target.open("wb") as copy:
                copyfileobj(source, copy, _COPIED_AT_ONCE)
            if self.log.exists():
                target.with_name(f"{target.name}.wal").write_bytes(self.log.read_bytes())

    def _share(self, source: BinaryIO) -> None:
        """Take the lock of readers on the file; DuckDB's error says which process writes it."""
        try:
            fcntl.lockf(source, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            try:
                duckdb.connect(str(self.path), read_only=True).close()
            except duckdb.Error as named:
                raise BlockingIOError(str(named)) from None
            raise error from None

    def state(self) -> State:
        """Return a stamp that changes with each commit: size and time of file and log."""
        found = [file.stat() for file in (self.path, self.log) if file.exists()]
        return tuple((each.st_size, each.st_mtime_ns) for each in found)

    def _when_free(self, take: Callable[[], _Result]) -> _Result:
        """Return a function's result, called as soon as no other process has the file.

        Args:
            take: Raises ``BlockingIOError`` as long as another process has it.
        """
        started, has_warned = time.monotonic(), False
        while True:
            try:
                return take()
            except BlockingIOError as error:
                busy = error
            waited_s = time.monotonic() - started
            if waited_s >= self._timeout_s:
                raise StoreLockedError(
                    f"{self.path} has been locked by another process for {self._timeout_s:g} s; "
                    f"end it or wait for it, then try again: {busy}"
                )
            if waited_s >= _WARNING_S and not has_warned:
                has_warned = True
                _log.warning("waiting for a process that has %s open: %s", self.path, busy)
            time.sleep(random.uniform(0.02, 0.2))  # noqa: S311 - spreads retries, no security

    def _open(self, stack: ExitStack) -> duckdb.DuckDBPyConnection:
        self._require_log()
        connection = _instance(self.path.with_name(f"{self.path.name}.tmp")).cursor()
        try:
            connection.execute(f"ATTACH {quoted(self.path)} AS {_NAME} (TYPE duckdb)")
            connection.execute(f"USE {_NAME}")
        except duckdb.Error as error:
            connection.close()
            if _LOCK_MESSAGE in str(error):
                raise BlockingIOError(str(error)) from error
            if is_disk_full(error):
                raise
            raise StoreError(f"cannot open {self.path}: {error}{_WAYS_OUT}") from error
        stack.callback(connection.close)
        stack.callback(_detach, connection)
        return connection

    def _require_log(self) -> None:
        """Refuse a write-ahead log that is none: DuckDB would drop it, with its commits."""
        try:
            with self.log.open("rb") as stream:
                begins = stream.read(len(_LOG_BEGINS))
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"cannot open {self.log}: {error.strerror}") from error
        if not _LOG_BEGINS.startswith(begins):  # a process that was killed may have begun it
            raise StoreError(
                f"{self.log} is damaged, and what it holds of the last commits is lost: move the "
                "store away and run `cosqa store restore BACKUP`, or move that file away to go on "
                "without them"
            )

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn DuckDB's errors of a damaged file inside the ``with`` into one with the ways out.

        And raise the exception of a signal that came while DuckDB opened the file or worked.
        """
        try:
            yield
        except RuntimeError as error:
            if str(error) != _INTERRUPTED:
                raise
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            is_damage = isinstance(error, _DAMAGE) or type(error) is duckdb.Error
            if not is_damage or is_disk_full(error):
                raise
            [problem, *_] = str(error).splitlines() or [""]
            raise StoreError(
                f"{self.path} cannot be read or written: {problem}{_WAYS_OUT}"
            ) from error


@lru_cache(maxsize=1)
def _instance(temporary: Path) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB without a file, to which the store's is attached for each transaction.

    To make one takes 40 ms, to attach a file 6. What memory does not hold goes to ``temporary``.
    """
    return duckdb.connect(":memory:", config={"temp_directory": str(temporary)})


def _detach(connection: duckdb.DuckDBPyConnection) -> None:
    try:
        connection.execute("RESET memory_limit")  # else that of one transaction is everyone's
        connection.execute("USE memory")
        connection.execute(f"DETACH {_NAME}")
    except duckdb.Error:  # DuckDB does no more with an instance that met a fatal error
        _instance.cache_clear()


def quoted(value: object) -> str:
    """Return a text as a literal of SQL, for statements that take no parameters."""
    return "'" + str(value).replace("'", "''") + "'"


def statements_beside(module: str) -> dict[str, str]:
    """Return name → statement of the file of SQL beside a module's, by its path.

    Each stands behind a line with its name.
    """
    text = Path(module).with_suffix(".sql").read_text("utf-8")
    return dict(re.findall(r"^-- (\w+)\n(.*?)(?=^-- \w+\n|\Z)", text, re.MULTILINE | re.DOTALL))


@dataclass(frozen=True)
class Transaction:
    """An open transaction; everything in it is committed together or not at all."""

    connection: duckdb.DuckDBPyConnection

    def execute(self, sql: str, parameters: Parameters = ()) -> None:
        """Run one statement."""
        self.connection.execute(sql, parameters)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a SQL query."""
        return self.connection.execute(sql, parameters).fetchall()

    def dicts(self, sql: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        """Return all rows of a SQL query, each as column → value."""
        result = self.connection.execute(sql, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def records(self, kind: type[_Row], sql: str, parameters: Parameters = ()) -> list[_Row]:
        """Return all rows of a SQL query, whose columns are the fields of a kind of records."""
        return [kind.model_validate(row) for row in self.dicts(sql, parameters)]

    def value(self, sql: str, parameters: Parameters = ()) -> object:
        """Return the first column of the first row, None when there is no row."""
        rows = self.rows(sql, parameters)  # all of them: a result must be read to its end
        return rows[0][0] if rows else None

    def count(self, sql: str, parameters: Parameters = ()) -> int:
        """Return the first column of the first row as an integer."""
        number = self.value(sql, parameters)
        return number if isinstance(number, int) else 0

    def arrow(self, sql: str, parameters: Parameters = ()) -> pa.Table:
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

    def rows(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a SQL query in a transaction of its own, as those below are."""
        with self.transaction() as tx:
            return tx.rows(sql, parameters)

    def column(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Return the values of a SQL query with one column."""
        return [value for (value,) in self.rows(sql, parameters)]

    def records(self, kind: type[_Row], sql: str, parameters: Parameters = ()) -> list[_Row]:
        """Return all rows of a SQL query, whose columns are the fields of a kind of records."""
        with self.transaction() as tx:
            return tx.records(kind, sql, parameters)

    def count(self, sql: str, parameters: Parameters = ()) -> int:
        """Return the first column of the first row as an integer."""
        with self.transaction() as tx:
            return tx.count(sql, parameters)

    def arrow(self, sql: str, parameters: Parameters = ()) -> pa.Table:
        """Return all rows of a SQL query as Arrow columns."""
        with self.transaction() as tx:
            return tx.arrow(sql, parameters)

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
    file = DatabaseFile(settings)
    with space_on(settings.folder, "choose another folder with --store"):
        _make_folder(settings.folder)
        with file.connected() as connection:
            connection.begin()
            if connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone() is None:
                connection.execute(SCHEMA.read_text(encoding="utf-8"))
                connection.execute("INSERT INTO meta VALUES (?, ?)", [SCHEMA_VERSION, uuid4().hex])
            store_id = require_version(connection, file.path)
            connection.commit()
    return Database(settings, store_id)


def _make_folder(folder: Path) -> None:
    if {"?", "\\"} & set(str(folder.absolute())):
        raise StoreError(
            f"the path of the store folder {folder} has a ? or a \\, with which DuckDB would "
            "write elsewhere; choose another with --store"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot create the store folder {folder}: {error.strerror}; choose another with "
            "--store"
        ) from error


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
