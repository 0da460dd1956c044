"""The rate limit that all workers of one API key share, and the budget that all of a model share.

They are kept in the journal that the workers share anyway. To divide the limits among workers
instead would waste what idle ones don't use, since they come and go.
"""

import sqlite3
import time
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial

from agents.llm.cache import RawReply, kept
from infra.budget import Budget, budgets_of, refuse_beyond
from infra.identity import mark
from infra.journal import Journal, keep_all, money, sums_in
from infra.records import Record
from infra.settings import LanguageModelSettings

_SMOOTHING = 0.95  # weight of the mean of earlier requests against the last one
_LATE_S = 0.1  # a turn that is taken so much too late does not put off the next one
_SKEW_S = 60.0  # clocks of machines that differ by more have jumped
_LONGEST_PAUSE_S = 3_600.0  # that tokens which were spent may put off a request


class Ticket(Record):
    """A reservation for one request.

    Attributes:
        tokens: At most so many tokens.
        expected_tokens: Tokens that count for the limit of tokens a minute, once it has its turn.
        usd: The reserved price.
        is_priced: Whether that follows from the model's price, not from earlier requests.
    """

    tokens: float
    expected_tokens: float = 0.0
    usd: float
    is_priced: bool


class SharedLimiter:
    """Paces requests and counts what they cost, over all processes that share a journal.

    A future that it returns raises ``UnrecordableError`` where what was spent cannot be known, or
    not be written down.

    Args:
        journal: Has the sums of all models and the paces of all keys.
        settings: Model, address and key; limits and budget.
        run: The budget of the run that asks; without one the settings' is of the model alone.

    Attributes:
        settings: Those that were given.
        is_in_usd: Whether a budget in US dollars is in force.
    """

    def __init__(
        self, journal: Journal, settings: LanguageModelSettings, run: Budget | None = None
    ) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        self.journal = journal
        self._account = mark("pace", settings.model, settings.base_url or "", key)
        self.settings = settings
        self._run = run or Budget()
        self._budgets = budgets_of(settings, self._run)
        self.is_in_usd = any(budget.limit_usd is not None for budget in self._budgets)

    def reserve(self, tokens: int, usd: float | None = None) -> "Future[Ticket]":
        """Reserve tokens and money for a request, which is sent once `take_turn` allows it.

        What is reserved counts as spent: a process that is killed may have been billed.

        Args:
            tokens: The most that the request may take.
            usd: The most that it may cost; where unknown, the highest price so far.

        Raises:
            BudgetExhaustedError: It could exceed the budget, or no price is known.
        """
        has_budget = self.is_in_usd or self.settings.budget_tokens is not None
        change = partial(self._reserve, tokens=tokens, usd=usd)
        return self.journal.write(change, durable=has_budget)

    def _reserve(self, tx: sqlite3.Connection, tokens: int, usd: float | None) -> Ticket:
        with money(tx, self.settings.model) as spent:
            price = spent.dearest_usd if usd is None else usd
            refuse_beyond(self._budgets, sums_in(tx), self.settings, (tokens, price))
            spent.tokens += tokens
            spent.usd += price
        return Ticket(tokens=tokens, usd=price, is_priced=usd is not None)

    @property
    def is_paced(self) -> bool:
        """Whether requests have to take turns."""
        return bool(self.settings.requests_per_minute or self.settings.tokens_per_minute)

    def take_turn(self, ticket: Ticket) -> "Future[tuple[float, Ticket]]":
        """Return 0 and the ticket if its request may be sent; else how many seconds are to pass."""
        return self.journal.write(partial(self._take_turn, ticket=ticket), durable=False)

    def _take_turn(self, tx: sqlite3.Connection, ticket: Ticket) -> tuple[float, Ticket]:
        rate, now = self.settings.requests_per_minute, time.time()
        last_turn, next_token, expected = self._pace(tx)
        if (ahead := last_turn - now) > _SKEW_S:
            last_turn, next_token = last_turn - ahead, next_token - ahead
        next_token = max(0.0, min(next_token, now + _LONGEST_PAUSE_S))
        due = max(last_turn + (60 / rate if rate else 0.0), next_token)
        if due <= now:
            last_turn = due if now - due < _LATE_S else now
            ticket = ticket.model_copy(
                update={"expected_tokens": expected or ticket.tokens}  # rarely its limit
            )
            next_token = last_turn + self._seconds_for(ticket.expected_tokens)
        self._set_pace(tx, last_turn, next_token, expected)
        return max(0.0, due - now), ticket

    def settle(
        self,
        ticket: Ticket,
        tokens: float,
        usd: float | None,
        replies: Iterable[tuple[str, RawReply]] = (),
    ) -> "Future[None]":
        """Replace what was reserved by what it took, and keep what came of it, in one change.

        That survives a loss of power where there are replies.

        Args:
            ticket: The reservation.
            tokens: What the provider counted, or the reservation where it did not.
            usd: The price; where it is unknown the reserved one stays, if that follows from the
                model's price.
            replies: Keys and replies.
        """
        paid_for = [*replies]

        def change(tx: sqlite3.Connection) -> None:
            keep_all(tx, kept(paid_for))
            self._settle(tx, ticket, tokens, usd)

        return self.journal.write(change, durable=bool(paid_for))

    def _settle(
        self, tx: sqlite3.Connection, ticket: Ticket, tokens: float, usd: float | None
    ) -> None:
        with money(tx, self.settings.model) as spent:
            spent.tokens = max(0.0, spent.tokens + tokens - ticket.tokens)
            if usd is not None or not ticket.is_priced:
                spent.usd = max(0.0, spent.usd + (usd or 0.0) - ticket.usd)
                spent.unpriced += usd is None
            spent.dearest_usd = max(spent.dearest_usd, usd or 0.0)
        if self.settings.tokens_per_minute and ticket.expected_tokens:
            took = min(tokens, ticket.tokens)
            last_turn, next_token, expected = self._pace(tx)
            next_token += self._seconds_for(took - ticket.expected_tokens)
            if took:
                expected = _SMOOTHING * (expected or took) + (1 - _SMOOTHING) * took
            self._set_pace(tx, last_turn, max(0.0, next_token), expected)

    def in_flight(self) -> AbstractContextManager[None]:
        """Let other processes know inside the ``with`` that some of what is reserved may come back.

        The kernel ends it with the process.
        """
        return self.journal.claims.in_flight(self.settings.model)

    def is_idle(self) -> bool:
        """Return whether no process has requests in flight."""
        return self.journal.claims.is_idle(self.settings.model)

    def left(self) -> tuple[float, float]:
        """Return the tokens and the US dollars that are left, infinite without a budget."""
        sums = self.journal.sums()
        tokens, usd = zip(*(budget.left(sums) for budget in self._budgets), strict=True)
        return min(tokens), min(usd)

    def knows_of_prices(self) -> bool:
        """Return whether a request to the model has told a price, or that it tells none."""
        spent = self.journal.spent(self.settings.model)
        return spent.dearest_usd > 0 or spent.unpriced > 0

    def spent(self) -> tuple[int, float]:
        """Return tokens and US dollars of the model, those reserved included."""
        spent = self.journal.spent(self.settings.model)
        return round(spent.tokens), spent.usd

    def spent_by_run(self) -> tuple[int, float]:
        """Return tokens and US dollars of the run, over all its rounds, those reserved included."""
        tokens, usd = self._run.spent(self.journal.sums())
        return round(tokens), usd

    def _seconds_for(self, tokens: float) -> float:
        rate = self.settings.tokens_per_minute
        return tokens * 60 / rate if rate else 0.0

    def _pace(self, tx: sqlite3.Connection) -> tuple[float, float, float]:
        """Return when the last turn was, when tokens allow another, and what a request takes.

        These are seconds since 1970, and the smoothed mean of tokens.
        """
        query = "SELECT last_turn, next_token, expected_tokens FROM paces WHERE account = ?"
        found: tuple[float, float, float] | None = tx.execute(query, [self._account]).fetchone()
        return found or (0.0, 0.0, 0.0)

    def _set_pace(self, tx: sqlite3.Connection, *numbers: float) -> None:
        tx.execute("INSERT OR REPLACE INTO paces VALUES (?, ?, ?, ?)", (self._account, *numbers))
