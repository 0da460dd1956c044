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
from math import inf

from agents.llm.cache import RawReply, kept
from infra.errors import BudgetExhaustedError, RunBudgetExhaustedError
from infra.identity import mark
from infra.journal import Journal, Money, keep_all, money
from infra.records import Record
from infra.settings import LanguageModelSettings

_SMOOTHING = 0.95  # weight of the mean of earlier requests against the last one
_LATE_S = 0.1  # a turn that is taken so much too late does not put off the next one
_SKEW_S = 60.0  # clocks of machines that differ by more have jumped
_LONGEST_PAUSE_S = 3_600.0  # that tokens which were spent may put off a request


class Ticket(Record):
    """A reservation for one request, or for those of a batch.

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
    """

    def __init__(self, journal: Journal, settings: LanguageModelSettings) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        self.journal = journal
        self._account = mark("pace", settings.model, settings.base_url or "", key)
        self._own = settings
        self.limit(None, None)

    @property
    def settings(self) -> LanguageModelSettings:
        """The model with the limits in force."""
        return self._settings

    def limit(self, requests_per_minute: int | None, budget_usd: float | None) -> None:
        """Set other limits than the settings'; None returns to those. They hold at once.

        Of a budget, the run's other judges have spent a part. The end of a run's own budget is none
        of the limits: it holds where it is lower.
        """
        own = self._own
        shared = own.budget_usd if budget_usd is None else budget_usd
        if shared is not None:
            shared = max(0.0, shared - own.others_usd)
        update: dict[str, float | None] = {"budget_usd": shared}
        if requests_per_minute is not None:
            update["requests_per_minute"] = requests_per_minute
        limited = own.model_copy(update=update)
        end = own.run_ends_usd
        is_lower = end is not None and (shared is None or end < shared)
        self._run_end = end if is_lower else None
        self._named = (
            "`cosqa limit --budget-usd`" if budget_usd is not None
            else f"{limited.variables}BUDGET_USD"
        )  # fmt: skip
        self._settings = limited.model_copy(update={"budget_usd": end}) if is_lower else limited

    def reserve(self, tokens: int, usd: float | None = None) -> "Future[Ticket]":
        """Reserve tokens and money for a request, which is sent once `take_turn` allows it.

        What is reserved counts as spent: a process that is killed may have been billed. Arguments
        and errors are those of `reserve_in`.
        """
        budgets = self._settings.budget_usd, self._settings.budget_tokens
        has_budget = any(budget is not None for budget in budgets)
        change = partial(self.reserve_in, tokens=tokens, usd=usd)
        return self.journal.write(change, durable=has_budget)

    def reserve_in(
        self, tx: sqlite3.Connection, tokens: float, usd: float | None, requests: int = 1
    ) -> Ticket:
        """Reserve as a part of a change.

        Args:
            tx: The change's transaction.
            tokens: The most that the requests may take.
            usd: The most that they may cost; where unknown, the highest price so far for each.
            requests: How many there are.

        Raises:
            BudgetExhaustedError: They could exceed the budget, or no price is known.
        """
        with money(tx, self._settings.model) as spent:
            price = requests * spent.dearest_usd if usd is None else usd
            self._refuse_beyond_budget(spent, tokens, price)
            spent.tokens += tokens
            spent.usd += price
        return Ticket(tokens=tokens, usd=price, is_priced=usd is not None)

    @property
    def is_paced(self) -> bool:
        """Whether requests have to take turns."""
        return bool(self._settings.requests_per_minute or self._settings.tokens_per_minute)

    def take_turn(self, ticket: Ticket) -> "Future[tuple[float, Ticket]]":
        """Return 0 and the ticket if its request may be sent; else how many seconds are to pass.

        Limits may change meanwhile, so it is asked again after a second at the latest.
        """
        return self.journal.write(partial(self._take_turn, ticket=ticket), durable=False)

    def _take_turn(self, tx: sqlite3.Connection, ticket: Ticket) -> tuple[float, Ticket]:
        rate, now = self._settings.requests_per_minute, time.time()
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
            self.settle_in(tx, ticket, tokens, usd, dearest_usd=usd or 0.0)

        return self.journal.write(change, durable=bool(paid_for))

    def settle_in(
        self,
        tx: sqlite3.Connection,
        ticket: Ticket,
        tokens: float,
        usd: float | None,
        dearest_usd: float = 0.0,
    ) -> None:
        """Replace what was reserved as a part of a change; see `settle`."""
        with money(tx, self._settings.model) as spent:
            spent.tokens = max(0.0, spent.tokens + tokens - ticket.tokens)
            if usd is not None or not ticket.is_priced:
                spent.usd = max(0.0, spent.usd + (usd or 0.0) - ticket.usd)
                spent.unpriced += usd is None
            spent.dearest_usd = max(spent.dearest_usd, dearest_usd)
        if self._settings.tokens_per_minute and ticket.expected_tokens:
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
        return self.journal.claims.in_flight(self._settings.model)

    def is_idle(self) -> bool:
        """Return whether no process has requests in flight."""
        return self.journal.claims.is_idle(self._settings.model)

    def left(self) -> tuple[float, float]:
        """Return the tokens and the US dollars that are left, infinite without a budget."""
        settings, spent = self._settings, self._spent()
        tokens = inf if settings.budget_tokens is None else settings.budget_tokens
        usd = inf if settings.budget_usd is None else settings.budget_usd
        return tokens - spent.tokens, usd - spent.usd

    def knows_of_prices(self) -> bool:
        """Return whether a request to the model has told a price, or that it tells none."""
        spent = self._spent()
        return spent.dearest_usd > 0 or spent.unpriced > 0

    def spent(self) -> tuple[int, float]:
        """Return tokens and US dollars, those reserved included."""
        spent = self._spent()
        return round(spent.tokens), spent.usd

    def _spent(self) -> Money:
        return self.journal.spent(self._settings.model)

    def _refuse_beyond_budget(self, spent: Money, tokens: float, usd: float) -> None:
        settings = self._settings
        if settings.budget_usd is not None and spent.unpriced:
            of_all = self._run_end is None
            name = self._named if of_all else "the budget of this run"
            raise (BudgetExhaustedError if of_all else RunBudgetExhaustedError)(
                f"the price of {settings.model} is unknown, so {name} in US dollars cannot be "
                f"kept: set {settings.variables}BUDGET_TOKENS instead"
            )
        if self._run_end is not None and spent.usd + usd > self._run_end:
            raise RunBudgetExhaustedError(
                f"the budget of this run has {max(0.0, self._run_end - spent.usd):,.6g} US "
                f"dollars left and the next request to {settings.model} may take {usd:,.6g}: what "
                "was paid for is stored; run the same command or deployment again to go on, with "
                "another budget for that run"
            )
        for name, limit, before, more in (
            (f"{settings.variables}BUDGET_TOKENS", settings.budget_tokens, spent.tokens, tokens),
            (self._named, settings.budget_usd, spent.usd, usd),
        ):
            if limit is not None and before + more > limit:
                raise BudgetExhaustedError(
                    f"{before:,.6g} of {name}={limit:,.6g} are spent or reserved on "
                    f"{settings.model} and the next request may take {more:,.6g}: what was paid "
                    "for is stored; run the same command again with a higher budget to go on"
                )

    def _seconds_for(self, tokens: float) -> float:
        rate = self._settings.tokens_per_minute
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
