"""The DuckDB file of a store, which one process at a time may have open, and the store's writer.

A process that has a DuckDB file open for writing locks out all others, readers too. So it is opened
for one piece of work and closed; if another process has it open, this one waits for a while.

Damage of the file, which DuckDB finds by checksums when it opens the file and when it reads a
block, is a `StoreError` that says what to do; a file of another schema is refused.

One flow at a time writes labels, by a lock of the kernel on a file beside the database, which ends
with its process: there is nothing to clean up after a crash. The file has its name, for messages.
"""

import fcntl
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, TypeVar

import duckdb

from infra.errors import StoreBusyError, StoreError, StoreLockedError, StoreVersionError
from infra.files import OTHER_STORE, is_disk_full, locked, space_on
from infra.settings import StoreSettings

SCHEMA = Path(__file__).with_name("schema.sql")
SCHEMA_VERSION = 20  # of `schema.sql`

# What no store has, and what a query would run without a word. DuckDB lists thousands of its own
# functions for it: 20 ms.
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
_Result = TypeVar("_Result")
State = tuple[tuple[int, int, int], ...]
# File → its state when this process had it open last, and knew that it has tables alone.
_states_of_tables: dict[Path, State] = {}
_LOCK_FILE = "writer.lock"
_PAUSE_S = 0.5


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
        self._has_tables_alone = False

    @contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file for a ``with``; make it where it lacks.

        Raises:
            StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
            StoreError: It cannot be opened, or is damaged.
        """
        with self._translated_errors(), _turn_of_threads:
            with ExitStack() as stack:
                connection = self._when_free(partial(self._open, stack))
                # Under DuckDB's lock, since who had the file before may have changed it.
                self._has_tables_alone = self.state() == _states_of_tables.get(self.path)
                yield connection
            if self._has_tables_alone:
                _states_of_tables[self.path] = self.state()

    def store_id(self, connection: duckdb.DuckDBPyConnection) -> str:
        """Return the id of the store, see `require_version`, on a connection of `connected`.

        Views and functions are not looked for where this process has left the file as it is.
        """
        found = require_version(connection, self.path, tables_alone=self._has_tables_alone)
        self._has_tables_alone = True
        return found

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
        """Return a stamp that changes with each commit: number, size and time of file and log."""
        found = [file.stat() for file in (self.path, self.log) if file.exists()]
        return tuple((each.st_ino, each.st_size, each.st_ctime_ns) for each in found)

    def _when_free(self, take: Callable[[], _Result]) -> _Result:
        """Return a function's result; it raises ``BlockingIOError`` while another has the file."""
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


def require_version(
    connection: duckdb.DuckDBPyConnection, file: Path, *, tables_alone: bool = False
) -> str:
    """Return the id of a store that this program can read.

    Args:
        connection: The open file.
        file: What messages call it.
        tables_alone: Whether it is known to have neither views nor functions.

    Raises:
        StoreError: The file is no store of this program.
        StoreVersionError: It has another schema version.
    """
    if foreign := None if tables_alone else connection.execute(_FOREIGN).fetchone():
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


@contextmanager
def writer_lock(settings: StoreSettings, owner: str, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the writer's lock of a store inside the ``with``.

    Args:
        settings: The store.
        owner: Name of the run, for the message to others.
        patience_s: Seconds to wait while another run holds it.

    Raises:
        StoreBusyError: Another run holds it; the message names the run.
    """
    with ExitStack() as lock:
        handle = _take(settings.folder / _LOCK_FILE, lock, patience_s)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        text = f"{owner} (process {os.getpid()} on {socket.gethostname()}, since {since})"
        with space_on(settings.folder, OTHER_STORE):
            os.ftruncate(handle, 0)
            os.pwrite(handle, text.encode(), 0)
        yield


def require_no_writer(settings: StoreSettings) -> None:
    """Refuse a store that a run writes at the moment.

    Raises:
        StoreBusyError: One does; the message names it.
    """
    file = settings.folder / _LOCK_FILE
    if file.exists():
        with ExitStack() as lock:
            _take(file, lock, 0.0)


def _take(file: Path, lock: ExitStack, patience_s: float) -> int:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return lock.enter_context(locked(file, wait=False))
        except BlockingIOError:
            if time.monotonic() >= deadline:
                owner = file.read_text("utf-8", errors="replace") or "a run that has just begun"
                raise StoreBusyError(
                    f"the store {file.parent} is being written by {owner}: wait for that run or "
                    "end it, then try again, or use another store with --store"
                ) from None
        time.sleep(_PAUSE_S)
