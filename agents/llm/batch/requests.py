"""The requests of batches, and the batches in flight, in a SQLite file.

A request is ``waiting`` until it is in a batch (``sent``), then ``answered``, or ``direct`` where
batches have failed to answer it. What was submitted is written down before it is, so that a run
that was killed finds its batches again.
"""

import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock

from agents.llm.batch.records import TABLES, Change, SentBatch, WaitingRequest
from agents.llm.rate_limit import Ticket
from infra.errors import StoreError, StoreLockedError
from infra.identity import mark
from infra.locks import locked
from infra.settings import LanguageModelSettings
from infra.sqlite import connect, patiently

MAX_TRIES = 3  # batches that may fail to answer a request before it is sent by itself
_PAGE = 500

_log = logging.getLogger(__name__)


class BatchRequests:
    """The requests and batches of one model at one server, for any number of processes and threads.

    Args:
        folder: The folder of replies; the file is made when the first request is collected.
        settings: The model and its server.
    """

    def __init__(self, folder: Path, settings: LanguageModelSettings) -> None:
        self._file = folder / "batches.sqlite"
        self._account = mark("batches", settings.model, settings.base_url or "")
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._has_warned = False

    def want(self, key: str, role: str, question: str) -> bool:
        """Collect a request unless it is known; return whether its reply will come by a batch.

        One that is in a batch at another address is left there: its reply is paid for.
        """
        with self._transaction("NORMAL") as tx:
            row = bytes.fromhex(key), self._account, role, zlib.compress(question.encode())
            tx.execute(
                "INSERT INTO requests (key, account, role, question) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET state = 'waiting', batch = NULL, tries = 0, "
                "account = excluded.account, question = excluded.question "
                "WHERE state = 'answered'"  # yet its reply is lost
                " OR (state <> 'sent' AND account <> excluded.account)",
                row,
            )
            found = tx.execute("SELECT account, state FROM requests WHERE key = ?", row[:1])
            account, state = found.fetchone()
        if account != self._account and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "requests are in a batch that was sent to another address of the model: a run with "
                "that address (COSQA_LLM__BASE_URL) fetches their replies; until then they wait"
            )
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

    def asked(self, keys: Iterable[str]) -> Iterator[WaitingRequest]:
        """Yield the requests of those keys, whatever their state, that have no reply yet."""
        for key in keys:
            with self._reading() as tx:
                row = tx.execute(
                    "SELECT role, question FROM requests WHERE key = ? AND state <> 'answered'",
                    [bytes.fromhex(key)],
                ).fetchone()
            if row:
                text = zlib.decompress(row[1]).decode()
                yield WaitingRequest(key=key, role=row[0], question=text)

    def begin(self, batch: SentBatch, keys: Sequence[str]) -> None:
        """Write down a batch that is about to be submitted, and for which money is reserved."""
        with self._transaction() as tx:
            tx.execute(
                "INSERT INTO batches (mark, account, requests, ticket) VALUES (?, ?, ?, ?)",
                (batch.mark, self._account, batch.requests, batch.ticket.model_dump_json()),
            )
            tx.executemany(
                "UPDATE requests SET state = 'sent', batch = ? WHERE key = ?",
                ((batch.mark, bytes.fromhex(key)) for key in keys),
            )
            tx.execute("DELETE FROM changes WHERE mark = ?", [batch.mark])

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
        change: Change | None = None,
    ) -> None:
        """Forget a batch; what it has not answered waits for the next one.

        Args:
            mark: The batch.
            answered: Keys whose replies are kept.
            failed: Keys that count one try more, until they are to be sent by themselves.
            refused: Keys that no other batch can answer: they are to be sent by themselves.
            change: What is to take the place of its reservation; None leaves that as it is.
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
            if change:
                _note(tx, change)

    def note(self, change: Change) -> None:
        """Write down a change that is about to be made in the place of the last one."""
        with self._transaction() as tx:
            _note(tx, change)

    def noted(self, ledger: str) -> Change | None:
        """Return the change of a ledger that is written down, None where all are made."""
        with self._reading() as tx:
            found = tx.execute("SELECT change FROM changes WHERE ledger = ?", [ledger]).fetchone()
        return Change.model_validate_json(found[0]) if found else None

    def strike(self, change: Change) -> None:
        """Strike out a change that is made."""
        with self._transaction() as tx:
            tx.execute("DELETE FROM changes WHERE number = ?", [change.number])

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
                    patiently(partial(connection.executescript, TABLES))
                    self._connection = connection
                yield self._connection
            except (sqlite3.Error, OSError) as error:
                raise StoreError(
                    f"the requests of batches in {self._file} cannot be read or written ({error}): "
                    "make room there or make the file writable, then run the same command again; "
                    "if the file is damaged, remove it: batches in flight will be paid for again"
                ) from error


def _note(tx: sqlite3.Connection, change: Change) -> None:
    tx.execute(
        "INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?)",
        (change.ledger, change.number, change.mark, change.model_dump_json()),
    )


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
