"""A packed store of small contents by key: one SQLite file that many processes share.

Contents are compressed and written in groups: those that are handed over while a group is written
to the disk form the next one, so that hundreds in flight share one wait for the disk. Processes
take turns by a lock on a file beside it. A damaged file is left as it is, and another, with the
next number in its name, takes its place with all that can be read of it.
"""

import logging
import os
import random
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeVar

from infra.atomic import sync
from infra.errors import StoreError
from infra.locks import locked
from infra.packed_files import current_file, file_after, remove_packed
from infra.packed_rescue import check, readable_rows
from infra.sqlite import connect, patiently

_WARNING_S, _LOCK_TIMEOUT_S = 10.0, 300.0  # a large damaged file is saved in a minute
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TABLE = (
    "CREATE TABLE IF NOT EXISTS packed (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, "
    "content BLOB NOT NULL, kept_at INTEGER)"  # seconds since 1970
)
_INSERT = (
    "INSERT INTO packed (key, content, kept_at) VALUES (?, ?, strftime('%s', 'now')) ON CONFLICT "
    "(key) DO UPDATE SET content = excluded.content, kept_at = excluded.kept_at"
)
_FIND = "SELECT content FROM packed WHERE key = ?"

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class _Waiting(NamedTuple):
    """A content that is to be written, and the future that tells when it is."""

    key: bytes
    content: bytes
    written: "Future[None]"


class PackedStore:
    """Contents by key (hexadecimal digits), in a file that any number of processes share.

    Args:
        file: The SQLite file; made by the first content that is kept.
    """

    def __init__(self, file: Path) -> None:
        self._first = file
        self._current = file, file_after(file)
        self._reader, self._writer = _Connection(), _Connection()
        self._reading = Lock()
        self._is_checked = False
        self._guard = Lock()
        self._waiting: list[_Waiting] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"write-{file.stem}")

    @property
    def file(self) -> Path:
        """The file in use: the first one, or the last of those that took a damaged one's place."""
        current, after = self._current
        # At each look-up, and five times as fast as by `Path`.
        if os.path.exists(after) or not os.path.exists(current):  # noqa: PTH110
            current = current_file(self._first)
            self._current = current, file_after(current)
        return current

    def find(self, key: str) -> bytes | None:
        """Return the content of that key, or None; also, with a warning, where it is damaged.

        The first one that is not found has the whole file checked, for a damaged index may hide
        contents without any error; 100,000 replies take half a second.

        Raises:
            StoreError: The file cannot be read.
        """

        def read(file: Path) -> tuple[bytes] | None:
            connection = self._reader.to(file)
            row: tuple[bytes] | None = connection.execute(_FIND, (bytes.fromhex(key),)).fetchone()
            if row is None and not self._is_checked:
                self._is_checked = True
                check(connection)
            return row

        def replace(damaged: Path, error: Exception) -> None:
            with self.locked():
                self._replace(damaged, error)

        with self._reading:
            is_there = self._reader.is_open or self.file.exists()
            row = self._surely(read, replace) if is_there else None
        try:
            return zlib.decompress(row[0]) if row else None
        except (zlib.error, TypeError) as error:
            _log.warning("entry %s of %s is damaged (%s): it is left out", key, self.file, error)
            return None

    def keep(self, key: str, content: bytes) -> None:
        """Write a content; on return it survives a loss of power.

        Raises:
            StoreError: It cannot be written.
        """
        self.keep_soon(key, content).result()

    def keep_soon(self, key: str, content: bytes) -> "Future[None]":
        """Hand a content over to be written; return a future that ends once it is on the disk.

        The future raises as `keep` does.
        """
        waiting = _Waiting(bytes.fromhex(key), content, Future())
        waiting.written.set_running_or_notify_cancel()  # cannot be cancelled: it will be written
        with self._guard:
            self._waiting.append(waiting)
            if len(self._waiting) == 1:
                self._thread.submit(self._write_waiting)
        return waiting.written

    def _write_waiting(self) -> None:
        """Write all that waits as one transaction."""
        with self._guard:
            group, self._waiting = self._waiting, []

        def write(file: Path) -> None:
            rows = ((item.key, zlib.compress(item.content)) for item in group)
            _insert(self._writer.to(file), rows)

        try:
            with self.locked():
                self._surely(write, self._replace)
        except Exception as error:  # noqa: BLE001 - raised where the futures are waited for
            for item in group:
                item.written.set_exception(error)
        else:
            for item in group:
                item.written.set_result(None)

    def _surely(
        self, step: Callable[[Path], _Result], replace: Callable[[Path, Exception], None]
    ) -> _Result:
        """Return what a step returns, done again on another file where the one in use is damaged.

        Raises:
            StoreError: It cannot be done.
        """
        file = self.file
        try:
            try:
                return step(file)
            except sqlite3.DatabaseError as error:
                if _code(error) not in _DAMAGED:
                    raise
                replace(file, error)
                return step(self.file)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{file} cannot be read or written ({error}): make room there, or make the file "
                "and its folder writable, then run the same command again"
            ) from error

    def _replace(self, damaged: Path, error: Exception) -> None:
        """Let the file of the next number take a damaged one's place; the lock must be held.

        The damaged one keeps its name, for SQLite of other processes may have it open.
        """
        if self.file != damaged:  # another process was faster
            return
        part = damaged.with_name(f".{self._first.stem}.part")
        remove_packed(part)
        rescued = sqlite3.connect(part, isolation_level=None)
        rescued.execute(_TABLE)
        _insert(rescued, readable_rows(damaged))
        (number,) = rescued.execute("SELECT count(*) FROM packed").fetchone()
        rescued.close()
        part.rename(file_after(damaged))
        sync(part.parent)
        _log.warning(
            "%s is damaged (%s): %s entries could be read and are taken over into %s; what is "
            "lost will be made again", damaged, error, f"{number:,}", self.file.name,
        )  # fmt: skip

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock that processes take in turn to write.

        Raises:
            StoreError: Another process has held it for minutes, or it cannot be opened.
        """
        file = self._first.with_suffix(".lock")
        with ExitStack() as stack:
            try:
                _enter_when_free(stack, file)
            except OSError as error:
                raise StoreError(
                    f"{file} cannot be opened ({error}): make its folder writable, then run the "
                    "same command again"
                ) from error
            yield


def _enter_when_free(stack: ExitStack, file: Path) -> None:
    """Lock a file, which takes milliseconds unless the process that holds the lock hangs."""
    started, has_warned = time.monotonic(), False
    while True:
        try:
            stack.enter_context(locked(file, wait=False))
        except BlockingIOError:
            waited_s = time.monotonic() - started
        else:
            return
        if waited_s >= _LOCK_TIMEOUT_S:
            raise StoreError(
                f"{file} has been locked by another process for {waited_s:.0f} s: end that "
                f"process (`fuser {file}` finds it), then run the same command again"
            )
        if waited_s >= _WARNING_S and not has_warned:
            has_warned = True
            _log.warning("waiting for a process that has locked %s for %.0f s", file, waited_s)
        time.sleep(random.uniform(0.001, 0.004))  # noqa: S311 - spreads retries, no security


class _Connection:
    """A connection that is made anew when it is to lead to another file, also of the same name."""

    def __init__(self) -> None:
        self._file: tuple[int, int] | None = None
        self._connection: sqlite3.Connection

    @property
    def is_open(self) -> bool:
        """Whether it leads to a file."""
        return self._file is not None

    def to(self, file: Path) -> sqlite3.Connection:
        """Return the connection to a file, which has the table then."""
        if self._file is None or self._file != _identity(file):
            connection = connect(file)
            patiently(partial(prepare, connection))
            self._connection, self._file = connection, _identity(file)
        return self._connection


def _identity(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from one that took its name, as by `cosqa store restore`."""
    try:
        found = os.stat(file)  # noqa: PTH116 - at each look-up
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def prepare(connection: sqlite3.Connection) -> None:
    """Make the table where it lacks."""
    connection.execute(_TABLE)


def _insert(connection: sqlite3.Connection, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Insert rows in one transaction, whole or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(_INSERT, rows)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary error code."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF
