"""The requests of batches, and the batches in flight, in a SQLite file.

A request is ``waiting`` until it is in a batch (``sent``), then ``answered``, or ``direct`` where
batches have failed to answer it. What was submitted is written down before it is, so that a run
that was killed finds its batches again.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

from agents.llm.rate_limit import Ticket
from infra.errors import StoreError, StoreLockedError
from infra.identity import digest
from infra.locks import locked
from infra.records import Record
from infra.settings import LanguageModelSettings
from infra.sqlite import connect

MAX_TRIES = 3  # batches that may fail to answer a request before it is sent by itself
_PAGE = 500

_TABLES = """
CREATE TABLE IF NOT EXISTS requests (
    key      BLOB PRIMARY KEY,
    account  TEXT NOT NULL,
    role     TEXT NOT NULL,
    question BLOB NOT NULL,
    state    TEXT NOT NULL DEFAULT 'waiting',
    batch    TEXT,
    tries    INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS request_states ON requests (account, state, key);
CREATE INDEX IF NOT EXISTS request_batches ON requests (batch) WHERE batch IS NOT NULL;
CREATE TABLE IF NOT EXISTS batches (
    mark        TEXT PRIMARY KEY,
    account     TEXT NOT NULL,
    provider_id TEXT,
    requests    INTEGER NOT NULL,
    ticket      TEXT NOT NULL
);
"""


class WaitingRequest(Record):
    """A request that is to be put into a batch; ``question`` is JSON."""

    key: str
    role: str
    question: str


class SentBatch(Record):
    """A batch whose replies are not all kept.

    Attributes:
        mark: Our name of it, which the provider keeps with it.
        provider_id: The provider's name; None where it is not known whether it was submitted.
        requests: Number of requests in it.
        ticket: What is reserved of the budget.
    """

    mark: str
    provider_id: str | None = None
    requests: int
    ticket: Ticket


class BatchRequests:
    """The requests and batches of one model at one server, for any number of processes and threads.

    Args:
        folder: The folder of replies; the file is made when the first request is collected.
        settings: The model and its server.
    """

    def __init__(self, folder: Path, settings: LanguageModelSettings) -> None:
        self._file = folder / "batches.sqlite"
        self._account = digest("batches", settings.model, settings.base_url or "")
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None

    def want(self, key: str, role: str, question: str) -> bool:
        """Collect a request unless it is known; return whether its reply will come by a batch."""
        row = bytes.fromhex(key), self._account, role, zlib.compress(question.encode())
        with self._transaction("NORMAL") as tx:
            tx.execute(
                "INSERT INTO requests (key, account, role, question) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET state = 'waiting', batch = NULL, tries = 0, "
                "account = excluded.account, question = excluded.question "
                "WHERE state = 'answered' OR account <> excluded.account",  # yet its reply is lost
                row,
            )
            (state,) = tx.execute("SELECT state FROM requests WHERE key = ?", row[:1]).fetchone()
        return bool(state != "direct")

    def is_answered(self, key: str) -> bool:
        """Return whether a request was paid for since the last `clear`, by a batch or by itself."""
        with self._reading() as tx:
            found = tx.execute(
                "SELECT 1 FROM requests WHERE key = ? AND state IN ('answered', 'direct')",
                [bytes.fromhex(key)],
            ).fetchone()
        return found is not None

    def roles_waiting(self) -> dict[str, int]:
        """Return role → number of requests that wait for a batch."""
        with self._reading() as tx:
            return dict(
                tx.execute(
                    "SELECT role, count(*) FROM requests WHERE account = ? AND state = 'waiting' "
                    "GROUP BY role ORDER BY role",
                    [self._account],
                )
            )

    def waiting(self) -> Iterator[WaitingRequest]:
        """Yield the requests that wait, in the order of their keys."""
        last = b""
        while True:
            with self._reading() as tx:
                rows = tx.execute(
                    "SELECT key, role, question FROM requests WHERE account = ? "
                    "AND state = 'waiting' AND key > ? ORDER BY key LIMIT ?",
                    (self._account, last, _PAGE),
                ).fetchall()
            for key, role, question in rows:
                text = zlib.decompress(question).decode()
                yield WaitingRequest(key=key.hex(), role=role, question=text)
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]

    def begin(self, batch: SentBatch, keys: Sequence[str]) -> None:
        """Write down a batch that is about to be submitted."""
        with self._transaction() as tx:
            tx.execute(
                "INSERT INTO batches (mark, account, requests, ticket) VALUES (?, ?, ?, ?)",
                (batch.mark, self._account, batch.requests, batch.ticket.model_dump_json()),
            )
            tx.executemany(
                "UPDATE requests SET state = 'sent', batch = ? WHERE key = ?",
                ((batch.mark, bytes.fromhex(key)) for key in keys),
            )

    def submitted(self, mark: str, provider_id: str) -> None:
        """Write down the provider's name of a batch."""
        with self._transaction() as tx:
            tx.execute("UPDATE batches SET provider_id = ? WHERE mark = ?", (provider_id, mark))

    def sent(self) -> list[SentBatch]:
        """Return the batches whose replies are not all kept."""
        with self._reading() as tx:
            rows = tx.execute(
                "SELECT mark, provider_id, requests, ticket FROM batches "
                "WHERE account = ? ORDER BY mark",
                [self._account],
            ).fetchall()
        return [
            SentBatch(
                mark=row[0],
                provider_id=row[1],
                requests=row[2],
                ticket=Ticket.model_validate_json(row[3]),
            )
            for row in rows
        ]

    def keys_of(self, mark: str) -> set[str]:
        """Return the keys of a batch's requests."""
        with self._reading() as tx:
            rows = tx.execute("SELECT key FROM requests WHERE batch = ?", [mark])
            return {key.hex() for (key,) in rows}

    def end(
        self,
        mark: str,
        answered: Sequence[str] = (),
        failed: Sequence[str] = (),
        refused: Sequence[str] = (),
    ) -> None:
        """Forget a batch; what it has not answered waits for the next one.

        Args:
            mark: The batch.
            answered: Keys whose replies are kept.
            failed: Keys that count one try more, until they are to be sent by themselves.
            refused: Keys that no other batch can answer: they are to be sent by themselves.
        """
        with self._transaction() as tx:
            tx.executemany(
                "UPDATE requests SET state = 'answered', question = x'', batch = NULL "
                "WHERE key = ?",
                ([bytes.fromhex(key)] for key in answered),
            )
            tx.executemany(
                "UPDATE requests SET tries = tries + ? WHERE key = ?",
                [(1, bytes.fromhex(key)) for key in failed]
                + [(MAX_TRIES, bytes.fromhex(key)) for key in refused],
            )
            tx.execute(
                "UPDATE requests SET state = iif(tries >= ?, 'direct', 'waiting'), batch = NULL "
                "WHERE batch = ?",
                (MAX_TRIES, mark),
            )
            tx.execute("DELETE FROM batches WHERE mark = ?", [mark])

    def refuse(self, key: str) -> None:
        """Let a request that waits be sent by itself."""
        with self._transaction() as tx:
            tx.execute("UPDATE requests SET state = 'direct' WHERE key = ?", [bytes.fromhex(key)])

    def answer(self, key: str) -> None:
        """Note that the reply of a request that waits is kept."""
        with self._transaction() as tx:
            tx.execute("UPDATE requests SET state = 'answered' WHERE key = ?", [bytes.fromhex(key)])

    def forget_waiting(self) -> None:
        """Forget what an earlier run collected and did not submit: it may not be wanted."""
        if self._file.is_file():
            with self._transaction() as tx:
                tx.execute(
                    "DELETE FROM requests WHERE account = ? AND state IN ('waiting', 'direct')",
                    [self._account],
                )

    def clear(self) -> None:
        """Forget all requests that are in no batch, at the end of a run."""
        if self._file.is_file():
            with self._transaction() as tx:
                tx.execute(
                    "DELETE FROM requests WHERE account = ? AND state <> 'sent'", [self._account]
                )

    @contextmanager
    def _transaction(self, synchronous: str = "FULL") -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction, which is on the disk at the end where FULL."""
        with self._reading() as connection:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._connection is None:
                    connection = connect(self._file)
                    connection.executescript(_TABLES)
                    self._connection = connection
                yield self._connection
            except (sqlite3.Error, OSError) as error:
                raise StoreError(
                    f"the requests of batches in {self._file} cannot be read or written ({error}): "
                    "make room there or make the file writable, then run the same command again; "
                    "if the file is damaged, remove it: batches in flight will be paid for again"
                ) from error


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other runs from submitting the requests in this folder of replies.

    Raises:
        StoreLockedError: Another run is at it.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / "batches.lock", wait=False))
        except BlockingIOError:
            raise StoreLockedError(
                f"another run submits the requests in {folder} as batches: wait until it has ended"
            ) from None
        yield
