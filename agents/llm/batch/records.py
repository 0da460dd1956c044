"""What is written down of batches: requests, batches in flight, and the change of money in hand."""

from agents.llm.rate_limit import Ticket
from infra.records import Record

TABLES = """
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
CREATE TABLE IF NOT EXISTS changes (
    ledger TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    mark   TEXT NOT NULL,
    change TEXT NOT NULL
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


class Change(Record):
    """A change of what is spent: a batch's reservation, or what takes its place.

    Attributes:
        ledger: Where it is made.
        number: Its number, which the ledger keeps.
        mark: The batch.
        ticket: The reservation.
        took: Tokens and US dollars that take its place, None where it is only being made.
    """

    ledger: str
    number: int
    mark: str
    ticket: Ticket
    took: tuple[float, float | None] | None = None
