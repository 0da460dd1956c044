"""The requests of batches, and the batches in flight, in the journal.

A request is ``waiting`` until it is in a batch (``sent``), then ``answered``, or ``direct`` where
batches have failed to answer it. What is submitted is written down before it is, with what is
reserved for it, so that a run that was killed finds its batches again.
"""

import asyncio
import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

from agents.llm.rate_limit import SharedLimiter, Ticket
from infra.errors import ReplyPendingError, StoreLockedError
from infra.identity import mark
from infra.journal import keep_all
from infra.records import Record

MAX_TRIES = 3  # batches that may fail to answer a request before it is sent by itself
_PAGE = 500

_log = logging.getLogger(__name__)


class WaitingRequest(Record):
    """A request that is to be put into a batch; ``question`` is JSON."""

    key: str
    role: str
    question: str


class SentBatch(Record):
    """A batch whose replies are not kept.

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

    What changes them returns a future, as `Journal.write` does.

    Args:
        limiter: The model and its server, what is spent on it, and the journal.
    """

    def __init__(self, limiter: SharedLimiter) -> None:
        self._limiter = limiter
        self._journal = limiter.journal
        settings = limiter.settings
        self._account = mark("batches", settings.model, settings.base_url or "")
        self._has_warned = False

    async def defer(self, key: str, role: str, question: str) -> None:
        """Collect a request; return where batches have failed to answer it: it is to be sent.

        One that is in a batch at another address is left there: its reply is paid for.

        Args:
            key: The reply's key.
            role: Which agent asks.
            question: The request as JSON.

        Raises:
            ReplyPendingError: The reply will come with a batch.
        """
        row = bytes.fromhex(key), self._account, role, zlib.compress(question.encode())

        def change(tx: sqlite3.Connection) -> tuple[str, str]:
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
            return account, state

        account, state = await asyncio.wrap_future(self._journal.write(change, durable=False))
        if account != self._account and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "requests are in a batch that was sent to another address of the model: a run with "
                "that address (COSQA_LLM__BASE_URL) fetches their replies; until then they wait"
            )
        if state != "direct":
            raise ReplyPendingError(f"the reply to the {role} will come with a batch")

    def is_new(self, key: str) -> bool:
        """Return whether a reply was paid for since the last `clear`, by a batch or by itself."""
        query = "SELECT 1 FROM requests WHERE key = ? AND state IN ('answered', 'direct')"
        return bool(self._journal.rows(query, bytes.fromhex(key)))

    def roles_waiting(self) -> dict[str, int]:
        """Return role → number of requests that wait for a batch."""
        return dict(
            self._journal.rows(
                "SELECT role, count(*) FROM requests WHERE account = ? AND state = 'waiting' "
                "GROUP BY role ORDER BY role",
                self._account,
            )
        )

    def waiting(self) -> Iterator[WaitingRequest]:
        """Yield the requests that wait, in the order of their keys."""
        last = b""
        while True:
            rows = self._journal.rows(
                "SELECT key, role, question FROM requests WHERE account = ? "
                "AND state = 'waiting' AND key > ? ORDER BY key LIMIT ?",
                self._account, last, _PAGE,
            )  # fmt: skip
            yield from map(_request, rows)
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]

    def asked(self, keys: Iterable[str]) -> Iterator[WaitingRequest]:
        """Yield the requests of those keys, whatever their state, that have no reply yet."""
        query = "SELECT key, role, question FROM requests WHERE key = ? AND state <> 'answered'"
        for key in keys:
            yield from map(_request, self._journal.rows(query, bytes.fromhex(key)))

    def sent(self) -> list[SentBatch]:
        """Return the batches whose replies are not kept."""
        rows = self._journal.rows(
            "SELECT mark, provider_id, requests, ticket FROM batches WHERE account = ? "
            "ORDER BY mark",
            self._account,
        )
        return [
            SentBatch(mark=mark, provider_id=provider_id, requests=number,
                      ticket=Ticket.model_validate_json(ticket))
            for mark, provider_id, number, ticket in rows
        ]  # fmt: skip

    def keys_of(self, mark: str) -> set[str]:
        """Return the keys of a batch's requests."""
        rows = self._journal.rows("SELECT key FROM requests WHERE batch = ?", mark)
        return {key.hex() for (key,) in rows}

    def begin(
        self, mark: str, keys: Sequence[str], tokens: float, usd: float | None
    ) -> "Future[SentBatch]":
        """Write down a batch that is about to be submitted, and reserve what it may take.

        Args:
            mark: The batch.
            keys: Its requests.
            tokens: The most that they may take.
            usd: The most that they may cost, None where it is unknown.

        Raises:
            BudgetExhaustedError: They could exceed the budget.
        """

        def change(tx: sqlite3.Connection) -> SentBatch:
            ticket = self._limiter.reserve_in(tx, tokens, usd, len(keys))
            tx.execute(
                "INSERT INTO batches (mark, account, requests, ticket) VALUES (?, ?, ?, ?)",
                (mark, self._account, len(keys), ticket.model_dump_json()),
            )
            tx.executemany(
                "UPDATE requests SET state = 'sent', batch = ? WHERE key = ?",
                ((mark, bytes.fromhex(key)) for key in keys),
            )
            return SentBatch(mark=mark, requests=len(keys), ticket=ticket)

        return self._journal.write(change)

    def submitted(self, mark: str, provider_id: str) -> "Future[object]":
        """Write down the provider's name of a batch."""
        return self._do("UPDATE batches SET provider_id = ? WHERE mark = ?", provider_id, mark)

    def end(
        self,
        batch: SentBatch,
        replies: Sequence[tuple[bytes, bytes]] = (),
        failed: Iterable[str] = (),
        refused: Iterable[str] = (),
        took: tuple[float, float | None] | None = None,
    ) -> "Future[int]":
        """Keep a batch's replies and forget it; what has no reply waits for the next one.

        Args:
            batch: The batch.
            replies: Keys and replies, as `agents.llm.cache.kept` returns them.
            failed: Keys that count one try more, until they are to be sent by themselves.
            refused: Keys that no other batch can answer: they are to be sent by themselves.
            took: Tokens and US dollars that take the place of its reservation, as in
                `SharedLimiter.settle`; None leaves that as it is.

        Returns:
            How many of its requests have a reply.
        """

        def change(tx: sqlite3.Connection) -> int:
            keep_all(tx, replies)
            tx.executemany(
                "UPDATE requests SET tries = tries + ? WHERE key = ?",
                [(1, bytes.fromhex(key)) for key in failed]
                + [(MAX_TRIES, bytes.fromhex(key)) for key in refused],
            )
            answered = tx.execute(
                "UPDATE requests SET state = 'answered', question = x'', batch = NULL "
                "WHERE batch = ? AND EXISTS (SELECT 1 FROM replies WHERE key = requests.key)",
                [batch.mark],
            ).rowcount
            tx.execute(
                "UPDATE requests SET state = iif(tries >= ?, 'direct', 'waiting'), batch = NULL "
                "WHERE batch = ?",
                (MAX_TRIES, batch.mark),
            )
            tx.execute("DELETE FROM batches WHERE mark = ?", [batch.mark])
            if took:
                self._limiter.settle_in(tx, batch.ticket, *took)
            return answered

        return self._journal.write(change)

    def answer(self, key: str, state: str = "answered") -> "Future[object]":
        """Note that a request that waits has a reply, or is to be sent by itself (``direct``)."""
        return self._do("UPDATE requests SET state = ? WHERE key = ?", state, bytes.fromhex(key))

    def forget_waiting(self) -> None:
        """Forget what an earlier run collected and did not submit: it may not be wanted."""
        which = "requests WHERE account = ? AND state IN ('waiting', 'direct')"
        self._forget(which, self._account)

    def clear(self) -> None:
        """Forget what serves one run alone: requests that are in no batch, and programs' runs."""
        self._forget("requests WHERE account = ? AND state <> 'sent'", self._account)
        self._forget("runs")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs from submitting the requests inside the ``with``.

        Raises:
            StoreLockedError: Another run is at it.
        """
        with self._journal.claims.at_once(mark("batches")) as is_taken:
            if not is_taken:
                raise StoreLockedError(
                    f"another run submits the requests in {self._journal.file} as batches: wait "
                    "until it has ended"
                )
            yield

    def _forget(self, which: str, *values: object) -> None:
        if self._journal.file.exists():  # else there is nothing to forget
            self._do(f"DELETE FROM {which}", *values).result()  # noqa: S608

    def _do(self, query: str, *values: object) -> "Future[object]":
        return self._journal.write(lambda tx: tx.execute(query, values))


def _request(row: tuple[bytes, str, bytes]) -> WaitingRequest:
    key, role, question = row
    return WaitingRequest(key=key.hex(), role=role, question=zlib.decompress(question).decode())
