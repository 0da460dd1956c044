"""Connections to the DuckDB file, shared among processes by turns.

A process that has a DuckDB file open for writing locks out all others, readers too; who comes later
waits. Each connection also holds a shared lock on a file beside the database: housekeeping that
copies the file, or puts another in its place, takes that lock alone, and then nobody has it open.

Damage of the file, which DuckDB finds by checksums when it opens the file and when it reads a
block, is a `StoreError` that says what to do.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import duckdb

from infra.disk import is_disk_full
from infra.errors import StoreError, StoreLockedError
from infra.locks import locked
from infra.settings import StoreSettings

_NAME = "cosqa"  # of the file as a catalog, the same for every reader
_LOCK_MESSAGE = "Could not set lock on file"
_INTERRUPTED = "Query interrupted"  # what DuckDB makes of the exception of a signal
_WARNING_S = 10.0
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
_Entered = TypeVar("_Entered")


class _Busy(Exception):  # noqa: N818 - never leaves this module
    """Another process has the file; its text says which, where that is known."""


@contextmanager
def connected(settings: StoreSettings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the store's file for a ``with``; make it where it lacks.

    Raises:
        StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
        StoreError: It cannot be opened, or is damaged.
    """

    def enter(stack: ExitStack) -> duckdb.DuckDBPyConnection:
        _lock(stack, settings, shared=True)
        return _open(stack, settings)

    with _telling_errors(settings), _turn_of_threads, ExitStack() as stack:
        yield _entered(stack, settings, enter)


@contextmanager
def alone(settings: StoreSettings, *, whole: bool = True) -> Iterator[None]:
    """Keep all processes from the store's file inside a ``with``.

    Only files may be worked on inside, and the store's by `opened_alone`.

    Args:
        settings: The store.
        whole: Whether the file must open, so that it is whole and has no write-ahead log.

    Raises:
        StoreLockedError: Another process had it open for longer than ``lock_timeout_s``.
        StoreError: It cannot be opened.
    """

    def enter(stack: ExitStack) -> None:
        _lock(stack, settings, shared=False)
        if whole and settings.database.is_file():
            with opened_alone(settings) as connection:
                connection.execute("CHECKPOINT")

    with ExitStack() as stack:
        _entered(stack, settings, enter)
        yield


@contextmanager
def opened_alone(settings: StoreSettings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the store's file for a ``with`` inside that of `alone`."""
    with _telling_errors(settings), ExitStack() as stack:
        yield _open(stack, settings)


def _lock(stack: ExitStack, settings: StoreSettings, *, shared: bool) -> None:
    file = settings.folder / "open.lock"
    try:
        stack.enter_context(locked(file, wait=False, shared=shared))
    except BlockingIOError as error:
        raise _Busy("its file is being read, copied or replaced") from error
    except OSError as error:
        if is_disk_full(error):
            raise
        raise StoreError(
            f"cannot open {file}: {error}; make the store's folder writable, or choose another "
            "with --store"
        ) from error


def _open(stack: ExitStack, settings: StoreSettings) -> duckdb.DuckDBPyConnection:
    _require_log(settings)
    connection = _instance(settings.database.with_name(f"{settings.database.name}.tmp")).cursor()
    stack.callback(connection.close)
    try:
        connection.execute(f"ATTACH {quoted(settings.database)} AS {_NAME} (TYPE duckdb)")
        connection.execute(f"USE {_NAME}")
    except duckdb.Error as error:
        if _LOCK_MESSAGE in str(error):
            raise _Busy(str(error)) from error
        if is_disk_full(error):
            raise
        raise StoreError(f"cannot open {settings.database}: {error}{_WAYS_OUT}") from error
    stack.callback(_detach, connection)
    return connection


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


def _require_log(settings: StoreSettings) -> None:
    """Refuse a write-ahead log that is none: DuckDB would drop it, and its commits, in silence."""
    log = settings.database.with_name(f"{settings.database.name}.wal")
    try:
        with log.open("rb") as stream:
            begins = stream.read(len(_LOG_BEGINS))
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"cannot open {log}: {error.strerror}") from error
    if not _LOG_BEGINS.startswith(begins):  # a process that was killed may have begun it
        raise StoreError(
            f"{log} is damaged, and what it holds of the last commits is lost: put a backup in "
            "place by `cosqa store restore`, or move that file away to go on without them"
        )


_WAYS_OUT = (
    "; `cosqa store check` says what is damaged, and `cosqa store restore FOLDER --force` puts a "
    "backup in its place"
)


@contextmanager
def _telling_errors(settings: StoreSettings) -> Iterator[None]:
    """Turn DuckDB's errors of a damaged file inside the ``with`` into one that says what to do.

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
            f"{settings.database} cannot be read or written: {problem}{_WAYS_OUT}"
        ) from error


def _entered(
    stack: ExitStack, settings: StoreSettings, enter: Callable[[ExitStack], _Entered]
) -> _Entered:
    """Return what ``enter`` returns as soon as no other process has the file.

    What it enters while another has it is left again, so that nobody waits for a process that
    itself waits.
    """
    started, has_warned = time.monotonic(), False
    while True:
        try:
            with ExitStack() as attempt:
                found = enter(attempt)
                stack.push(attempt.pop_all())
                return found
        except _Busy as error:
            busy = error
        waited_s = time.monotonic() - started
        if waited_s >= settings.lock_timeout_s:
            raise StoreLockedError(
                f"{settings.database} has been locked by another process for "
                f"{settings.lock_timeout_s:g} s; end it or wait for it, then try again: {busy}"
            )
        if waited_s >= _WARNING_S and not has_warned:
            has_warned = True
            _log.warning("waiting for a process that has %s open: %s", settings.database, busy)
        time.sleep(random.uniform(0.02, 0.2))  # noqa: S311 - spreads retries, no security
