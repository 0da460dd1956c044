"""The journal of what is paid for: replies and what was spent, in one SQLite file.

It lies on a disk of this machine, and any number of its processes share it. A change is whole or
not made, and so is what belongs together: it is one change. Those that are handed over while others
are on their way to the disk go there together: hundreds in flight share one wait for it.

A file that is empty or damaged is an error, never nothing spent. Another may have made it: what it
has beside our tables, such as a trigger, is refused, and none of its rows takes more memory than a
reply can.
"""

import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from infra.errors import DiskFullError, UnrecordableError
from infra.files import sync

_FEWEST = 8  # replies but one that tell a pace
_PAUSE_S, _PAUSE_TIMES = 60.0, 20  # between two replies, or so often the median: no pace
_MARK = 0x436F5351  # in the head of the file
_TABLES = f"""
PRAGMA application_id = {_MARK};
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE replies (
    number  INTEGER PRIMARY KEY,
    key     BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL,
    kept_at INTEGER NOT NULL DEFAULT (strftime('%s', 'now'))
);
CREATE TABLE spent (
    model       TEXT PRIMARY KEY,
    tokens      REAL NOT NULL CHECK (tokens BETWEEN 0 AND 1e300),
    usd         REAL NOT NULL CHECK (usd BETWEEN 0 AND 1e300),
    dearest_usd REAL NOT NULL CHECK (dearest_usd BETWEEN 0 AND 1e300),
    unpriced    REAL NOT NULL CHECK (unpriced BETWEEN 0 AND 1e300),
    checksum    INTEGER NOT NULL
) WITHOUT ROWID;
COMMIT;
"""
_FORMER = {"paces", "sqlite_autoindex_paces_1"}  # of journals that were made earlier
_NAME_ENDS = bytes.fromhex("d9d505f920a163d7")  # SQLite's file format, section 3
_LEAST_SIZE = 512
_LOCK_TIMEOUT_S = 300.0  # that another process may write
_LARGEST = 2**28  # bytes of a content: the longest reply, each character escaped
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass
class Money:
    """The spending on a model, by all keys and addresses.

    Attributes:
        tokens: Spent and reserved.
        usd: Spent and reserved.
        highest_usd: Price of the most expensive request so far.
        unpriced: Requests of unknown price.
    """

    tokens: float = 0.0
    usd: float = 0.0
    highest_usd: float = 0.0
    unpriced: float = 0.0


class _Waiting(NamedTuple):
    """A change that is to be made, whether it is to survive a loss of power, and what it gave."""

    change: Callable[[sqlite3.Connection], Any]
    durable: bool
    end: "Future[Any]"


class Journal:
    """The journal in a file; it is made by the first change.

    Args:
        file: The SQLite file.

    Attributes:
        file: The file.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._reader, self._writer = _Connection(file), _Connection(file)
        self._reading, self._guard = Lock(), Lock()
        self._is_checked = False
        self._waiting: list[_Waiting] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")

    def find(self, key: str) -> bytes | None:
        """Return the content of a key, or None; also, with a warning, where it is damaged.

        The first one that is not found has the whole file checked, for a damaged index may hide
        rows without any error; 100,000 replies take half a second.

        Raises:
            UnrecordableError: The journal cannot be read.
        """
        query = "SELECT content FROM replies WHERE key = ?"
        with self._reading, _translate_sqlite_errors(self.file):
            tx = self._reader.opened(make=False)
            row = tx.execute(query, [bytes.fromhex(key)]).fetchone() if tx else None
            if tx and row is None and not self._is_checked:
                _check(tx)
                self._is_checked = True
        if row is None:
            return None
        stream = zlib.decompressobj()
        try:
            content = stream.decompress(row[0], _LARGEST)
        except (zlib.error, TypeError) as error:
            problem = str(error)
        else:
            if stream.eof:
                return content
            problem = f"it is cut, or has more than {_LARGEST:,} bytes"
        _log.warning("%s of %s is damaged (%s): it is left out", key, self.file, problem)
        return None

    def reply_s(self, keys: Iterable[str]) -> float | None:
        """Return the seconds from one of these replies to the next, without pauses between runs.

        It is None where there are too few.
        """
        query, moments = "SELECT kept_at FROM replies WHERE key = ?", list[int]()
        with self._reading, _translate_sqlite_errors(self.file):
            if tx := self._reader.opened(make=False):
                for key in keys:
                    moments += tx.execute(query, [bytes.fromhex(key)]).fetchone() or ()
        gaps = [after - before for before, after in pairwise(sorted(moments))]
        if len(gaps) < _FEWEST:
            return None
        longest = max(_PAUSE_S, _PAUSE_TIMES * median(gaps))
        return fmean(gap for gap in gaps if gap <= longest)

    def spent(self, model: str) -> Money:
        """Return the spending on a model.

        Raises:
            UnrecordableError: It cannot be known.
        """
        with self._reading, _translate_sqlite_errors(self.file):
            tx = self._reader.opened(make=False)
            return _sums(tx).get(model, Money()) if tx else Money()

    def write(
        self, change: Callable[[sqlite3.Connection], _Result], *, durable: bool = True
    ) -> "Future[_Result]":
        """Make a change, together with others that are handed over meanwhile.

        Args:
            change: Makes it, on a connection in a transaction; what it raises undoes it.
            durable: Whether it is to survive a loss of power; else it survives the process, and the
                next one that is durable takes it along.

        Returns:
            A future of what the change returns, which cannot be cancelled. It raises what the
            change does, and ``UnrecordableError`` where the journal cannot be written.
        """
        end: Future[_Result] = Future()
        end.set_running_or_notify_cancel()
        with self._guard:
            self._waiting.append(_Waiting(change, durable, end))
            if len(self._waiting) == 1:
                self._thread.submit(self._write_waiting)
        return end

    def close(self) -> None:
        """Make the changes that were handed over, and what these hand over; close the file."""
        for _ in range(2):  # a reservation whose request was cancelled is given back behind it
            self._thread.submit(self._writer.close).result()
        with self._reading:
            self._reader.close()

    def _write_waiting(self) -> None:
        """Make all changes that wait, in one transaction."""
        with self._guard:
            group, self._waiting = self._waiting, []
        try:
            with _translate_sqlite_errors(self.file):
                ends = self._written(group)
        except Exception as error:  # noqa: BLE001 - raised where the futures are waited for
            ends = [partial(item.end.set_exception, error) for item in group]
        for end in ends:
            end()

    def _written(self, group: list[_Waiting]) -> list[Callable[[], None]]:
        """Make changes in one transaction; return functions that end the future of each."""
        tx = self._writer.opened(make=True)
        is_durable = any(item.durable for item in group)
        tx.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
        begin(tx)
        try:
            ends = [self._made(tx, item) for item in group]
            tx.execute("COMMIT")
        finally:
            if tx.in_transaction:
                tx.execute("ROLLBACK")
        return ends

    def _made(self, tx: sqlite3.Connection, item: _Waiting) -> Callable[[], None]:
        """Make a whole change, or nothing of it; return a function that ends its future."""
        tx.execute("SAVEPOINT change")
        try:
            with _translate_sqlite_errors(self.file):
                end = partial(item.end.set_result, item.change(tx))
        except Exception as error:  # noqa: BLE001 - raised where the future is waited for
            tx.execute("ROLLBACK TO change")
            end = partial(item.end.set_exception, error)
        tx.execute("RELEASE change")
        return end


class _Connection:
    """A connection that is opened at its first use."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None

    def opened(self, *, make: bool) -> Any:  # noqa: ANN401 - a connection, None only unless `make`
        """Return the connection; None where there is no file, which is not to be made."""
        if self._connection is None:
            if not _is_there(self._file):
                if not make:
                    return None
                _make(self._file)
            self._connection = _open(self._file)
        return self._connection

    def close(self) -> None:
        """Close it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _is_there(file: Path) -> bool:
    """Return True if there is a journal.

    Raises:
        sqlite3.DatabaseError: Something has lost it.
    """
    log, index, undo = (file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))
    for made in (log, index, undo):
        if made.is_symlink() or made.exists() > made.is_file():  # SQLite would write there, or wait
            raise _damage(f"{made} is a link, or no file")
    if undo.exists():
        with undo.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - len(_NAME_ENDS)))
            # With a name ends that of a change of several databases: this program makes none.
            if stream.read() == _NAME_ENDS:
                raise _damage(f"{undo} names a file of others, which SQLite would read and remove")
    is_logged = log.exists()  # first: others may make both meanwhile
    if not file.exists():
        if file.is_symlink():
            raise _damage("it is a link to a file that is not there")
        if is_logged:
            raise _damage(f"it is gone, but {log} is there")
        return False
    if (size := file.stat().st_size) < _LEAST_SIZE:  # SQLite takes it for one that is to be made
        raise _damage(f"it has {size} bytes")
    return True


def _make(file: Path) -> None:
    """Make a journal, whole from its first moment: an empty one has lost what it said."""
    if not file.parent.is_dir():
        file.parent.mkdir(parents=True, exist_ok=True)
        sync(file.parent.parent)
    with TemporaryDirectory(dir=file.parent, prefix=".journal-", suffix=".partial") as folder:
        new = Path(folder, file.name)
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.executescript(_TABLES)
        sync(new)
        with suppress(FileExistsError):
            os.link(new, file)
    sync(file.parent)


def connect(file: Path) -> sqlite3.Connection:
    """Return a connection to a SQLite file that processes share, in autocommit mode.

    Raises:
        sqlite3.Error: The file cannot be opened, or is no database.
    """
    connection = sqlite3.connect(
        file, _LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


def begin(connection: sqlite3.Connection) -> None:
    """Begin a transaction that writes, once no other process does."""
    connection.execute("BEGIN IMMEDIATE")


def _open(file: Path) -> sqlite3.Connection:
    connection = connect(file)
    connection.execute("PRAGMA trusted_schema = OFF")
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    strange = {name for _, name, *_ in _schema(connection) ^ _own_schema()} - _FORMER
    if mark != _MARK or strange:
        connection.close()
        raise _damage(f"it is no journal of this program: {', '.join(sorted(strange))[:200]}")
    return connection


def _schema(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Return tables, indexes, triggers and views, as they were made."""
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@cache
def _own_schema() -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(_TABLES)
        return _schema(connection)


def _check(connection: sqlite3.Connection) -> None:
    """Read a whole file, and compare its indexes with the tables."""
    (found,) = connection.execute("PRAGMA integrity_check (1)").fetchone()
    if found != "ok":
        raise _damage(found.replace("\n", " "))


def _damage(problem: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(problem)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


@contextmanager
def _translate_sqlite_errors(file: Path, written: Path | None = None) -> Iterator[None]:
    """Turn errors of a journal into one that says what to do.

    Args:
        file: The journal.
        written: Another file that is written, if not the journal itself.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if written and code == sqlite3.SQLITE_FULL:
            raise DiskFullError(
                f"the disk of {written} is full: what was there before is unchanged; make room "
                "there, then run the same command again"
            ) from error
        if code in _DAMAGED:
            raise UnrecordableError(
                f"{file}, which has the replies that were paid for and what was spent, is damaged "
                f"({error}): move the store away and run `cosqa store restore BACKUP`. Or look up "
                "at the provider what was spent, lower the budget by it and move these files away: "
                "then replies are asked and paid for again"
            ) from error
        if code == sqlite3.SQLITE_BUSY:
            raise UnrecordableError(
                f"{file} has been locked by another process for minutes: end that process "
                f"(`fuser {file}` finds it), then run the same command again"
            ) from error
        raise UnrecordableError(
            f"{file}, which has the replies that were paid for and what was spent, cannot be read "
            f"or written ({error}): make room there, or make the file and its folder writable, "
            "then run the same command again"
        ) from error


# What changes are made of.


def packed(contents: Iterable[tuple[str, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return keys (hexadecimal digits) and contents as they are stored."""
    return [(bytes.fromhex(key), zlib.compress(content)) for key, content in contents]


def keep_all(tx: sqlite3.Connection, contents: Iterable[tuple[bytes, bytes]]) -> None:
    """Keep contents in the place of those that their keys had."""
    tx.executemany(
        "INSERT INTO replies (key, content) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET "
        "content = excluded.content, kept_at = excluded.kept_at",
        contents,
    )


@contextmanager
def money(tx: sqlite3.Connection, model: str) -> Iterator[Money]:
    """Yield the spending on a model, to be changed; a block that raises changes nothing."""
    spent = _sums(tx).get(model, Money())
    yield spent
    numbers = tuple(map(float, vars(spent).values()))
    tx.execute(
        "INSERT OR REPLACE INTO spent VALUES (?, ?, ?, ?, ?, ?)",
        (model, *numbers, _checksum(model, numbers)),
    )


def _sums(tx: sqlite3.Connection) -> dict[str, Money]:
    """Return model → what was spent on it; all are read, as damage may hide one that is sought."""
    sums = {}
    for model, *numbers, checksum in tx.execute("SELECT * FROM spent"):
        if checksum != _checksum(model, tuple(numbers)):
            raise _damage(f"what was spent on {model} is not what was written")
        sums[model] = Money(*numbers)
    return sums


def _checksum(model: str, numbers: tuple[float, ...]) -> int:
    return zlib.crc32(repr((model, numbers)).encode())


# Upkeep.


def snapshot(file: Path, target: Path) -> None:
    """Write a copy of a journal as it is at one moment; others may write to it meanwhile.

    Raises:
        UnrecordableError: The journal is damaged, or the copy cannot be written.
        DiskFullError: The disk of the copy has no room.
    """
    with _translate_sqlite_errors(file, target):
        if _is_there(file):
            target.parent.mkdir(parents=True, exist_ok=True)
            with closing(_open(file)) as source:
                source.execute("VACUUM INTO ?", [str(target)])
            connect(target).close()  # from now on with a write-ahead log, as all others
            sync(target)


def fault_of(file: Path) -> str:
    """Return a journal's fault, "" without one; all of it is read."""
    try:
        if _is_there(file):
            with closing(_open(file)) as tx:
                _sums(tx)
                _check(tx)
    except (sqlite3.Error, OSError) as error:
        return str(error)
    return ""
