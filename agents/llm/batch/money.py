"""The money of batches: each change of what is spent is made once, whatever ends a run.

A change is written down beside the batches, together with what it is for, before it is made in the
ledger, which keeps its number. So a run that finds one written down knows whether it was made.
"""

import secrets

from agents.llm.batch.records import Change, SentBatch
from agents.llm.batch.requests import BatchRequests
from agents.llm.rate_limit import SharedLimiter, Ticket, replace_reserved

_NUMBERS = 2**53  # a ledger's numbers are floats


class BatchMoney:
    """Reserves and settles what batches take; `agents.llm.batch.requests.alone` is held.

    Args:
        limiter: Keeps what is spent, and its limits.
        requests: Where changes are written down.
    """

    def __init__(self, limiter: SharedLimiter, requests: BatchRequests) -> None:
        self._limiter = limiter
        self._requests = requests

    def reserve(self, mark: str, requests: int, tokens: float, usd: float | None) -> Ticket:
        """Reserve what a batch may take; it stays so if `BatchRequests.begin` follows.

        Args:
            mark: The batch.
            requests: How many requests it has.
            tokens: The most that they may take.
            usd: The most that they may cost; where unknown, the highest price so far for each.

        Raises:
            BudgetExhaustedError: They could exceed the budget.
            UnrecordableError: What was spent cannot be known.
        """
        with self._limiter.balance() as balance:
            price = requests * balance.max_request_usd if usd is None else usd
        ticket = Ticket(tokens=tokens, usd=price, is_priced=usd is not None)
        change = self._change(mark, ticket)
        self._requests.note(change)
        with self._limiter.balance(durable=True) as balance:
            self._limiter.refuse_beyond_budget(balance, tokens, price)
            balance.tokens += tokens
            balance.usd += price
            balance.change = change.number
        return ticket

    def settlement(self, batch: SentBatch, tokens: float, usd: float | None) -> Change:
        """Return what puts that in the place of a reservation, for `BatchRequests.end`.

        Args:
            batch: The batch.
            tokens: What it took.
            usd: What it cost; see `SharedLimiter.settle`.
        """
        return self._change(batch.mark, batch.ticket, (tokens, usd))

    def finish(self) -> None:
        """Make the change that is written down; give back what was reserved for no batch.

        Raises:
            UnrecordableError: What is spent cannot be known, or not be written down.
        """
        change = self._requests.noted(self._limiter.account)
        if change and change.took is None:
            change = self._given_back(change)
        if not change or change.took is None:
            return
        with self._limiter.balance(durable=True) as balance:
            if balance.change != change.number:
                replace_reserved(balance, change.ticket, *change.took)
                balance.change = change.number
        self._requests.strike(change)

    def _given_back(self, reservation: Change) -> Change | None:
        """Return the change that undoes a reservation, None where it was not made."""
        with self._limiter.balance() as balance:
            is_made = balance.change == reservation.number
        if not is_made:
            self._requests.strike(reservation)
            return None
        change = self._change(reservation.mark, reservation.ticket, (0.0, 0.0))
        self._requests.note(change)
        return change

    def _change(
        self, mark: str, ticket: Ticket, took: tuple[float, float | None] | None = None
    ) -> Change:
        number = 1 + secrets.randbelow(_NUMBERS - 1)
        return Change(
            ledger=self._limiter.account, number=number, mark=mark, ticket=ticket, took=took
        )
