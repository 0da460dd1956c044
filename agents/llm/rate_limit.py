"""The rate limit and the budget that all workers of one API key share.

They are kept in a small file under a lock, beside the replies that the workers share anyway. To
divide the limits among workers instead would waste what idle ones don't use, since they come and
go.
"""

import os
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path

from infra.errors import BudgetExhaustedError, RunBudgetExhaustedError
from infra.identity import digest
from infra.locks import locked
from infra.records import Record
from infra.settings import LanguageModelSettings

_SMOOTHING = 0.95  # weight of the mean of earlier requests against the last one
_LATE_S = 0.1  # a turn that is taken so much too late does not put off the next one
_SKEW_S = 60.0  # clocks of machines that differ by more have jumped
_LAYOUT = struct.Struct("<7d")


@dataclass
class _Balance:
    """The file's content.

    Attributes:
        last_turn: Moment at which the last request was allowed, in seconds since 1970.
        next_token: Moment from which the limit of tokens allows one.
        tokens: Spent and reserved.
        usd: Spent and reserved.
        max_request_usd: Price of the most expensive request so far.
        unpriced: Requests of unknown price.
        expected_tokens: Smoothed mean of what requests took.
    """

    last_turn: float = 0.0
    next_token: float = 0.0
    tokens: float = 0.0
    usd: float = 0.0
    max_request_usd: float = 0.0
    unpriced: float = 0.0
    expected_tokens: float = 0.0


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
    """Paces requests and counts what they cost, over all processes that share its folder.

    Args:
        folder: Where the files of all keys are.
        settings: Model and key, by whose digest the file is named; limits and budget.
    """

    def __init__(self, folder: Path, settings: LanguageModelSettings) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        name = digest("ledger", settings.model, settings.base_url or "", key)
        self._file = folder / name
        self._busy = folder / f"{name}.busy"  # locked, shared, while requests are in flight
        self._own = settings
        self.limit(None, None)

    @property
    def settings(self) -> LanguageModelSettings:
        """The model with the limits in force."""
        return self._settings

    def limit(self, requests_per_minute: int | None, budget_usd: float | None) -> None:
        """Set other limits than the settings'; None returns to those. They hold at once.

        The end of a run's own budget is none of them: it holds where it is lower.
        """
        given = {"requests_per_minute": requests_per_minute, "budget_usd": budget_usd}
        update = {name: value for name, value in given.items() if value is not None}
        limited = self._own.model_copy(update=update)
        end, shared = limited.run_ends_usd, limited.budget_usd
        is_lower = end is not None and (shared is None or end < shared)
        self._run_end = end if is_lower else None
        self._named = (
            "`cosqa limit --budget-usd`" if budget_usd is not None
            else f"{limited.variables}BUDGET_USD"
        )  # fmt: skip
        self._settings = limited.model_copy(update={"budget_usd": end}) if is_lower else limited

    def reserve(self, tokens: int, usd: float | None = None) -> Ticket:
        """Reserve tokens and money for a request, which is sent once `take_turn` allows it.

        What is reserved counts as spent: a process that is killed may have been billed.

        Args:
            tokens: The most that it may take.
            usd: The most that it may cost; where unknown, the highest price so far is reserved.

        Raises:
            BudgetExhaustedError: The request could exceed the budget, or what was spent cannot be
                known.
        """
        with self._balance() as balance:
            price = balance.max_request_usd if usd is None else usd
            self._refuse_beyond_budget(balance, tokens, price)
            balance.tokens += tokens
            balance.usd += price
            return Ticket(tokens=tokens, usd=price, is_priced=usd is not None)

    def take_turn(self, ticket: Ticket) -> tuple[float, Ticket]:
        """Return 0 and the ticket if its request may be sent; else how many seconds are to pass.

        Limits may change meanwhile, so it is asked again after a second at the latest.
        """
        settings, now = self._settings, time.time()
        if not (settings.requests_per_minute or settings.tokens_per_minute):
            return 0.0, ticket
        pace = 60 / settings.requests_per_minute if settings.requests_per_minute else 0.0
        with self._balance() as balance:
            if (ahead := balance.last_turn - now) > _SKEW_S:
                balance.last_turn -= ahead
                balance.next_token -= ahead
            due = max(balance.last_turn + pace, balance.next_token)
            if due > now:
                return due - now, ticket
            balance.last_turn = due if now - due < _LATE_S else now
            expected = balance.expected_tokens or ticket.tokens  # a reply rarely reaches its limit
            balance.next_token = balance.last_turn + self._seconds_for(expected)
            return 0.0, ticket.model_copy(update={"expected_tokens": expected})

    def settle(self, ticket: Ticket, tokens: float, usd: float | None) -> None:
        """Replace what was reserved for a request by what it took.

        Args:
            ticket: The reservation.
            tokens: What the provider counted, or the reservation where it did not.
            usd: The price; where it is unknown the reserved one stays, if that follows from the
                model's price.

        Raises:
            BudgetExhaustedError: What was spent cannot be written down.
        """
        with self._balance() as balance:
            balance.next_token += self._seconds_for(tokens - ticket.expected_tokens)
            if tokens:
                expected = balance.expected_tokens or tokens
                balance.expected_tokens = _SMOOTHING * expected + (1 - _SMOOTHING) * tokens
            balance.tokens += tokens - ticket.tokens
            if usd is None and ticket.is_priced:
                return
            balance.usd += (usd or 0.0) - ticket.usd
            balance.max_request_usd = max(balance.max_request_usd, usd or 0.0)
            balance.unpriced += usd is None

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Let other processes know inside the ``with`` that some of what is reserved may come back.

        The kernel ends it with the process.

        Raises:
            BudgetExhaustedError: The folder cannot be written to.
        """
        with ExitStack() as stack:
            with self._explained():
                stack.enter_context(locked(self._busy, shared=True))
            yield

    def is_idle(self) -> bool:
        """Return whether no process has requests in flight."""
        try:
            with self._explained(), locked(self._busy, wait=False):
                return True
        except BlockingIOError:
            return False

    def reserve_batch(self, requests: int, tokens: float, usd: float | None) -> Ticket:
        """Reserve tokens and money for requests that are sent as a batch, which is not paced.

        Args:
            requests: How many requests it has.
            tokens: The most that they may take.
            usd: The most that they may cost; where unknown, the highest price so far for each.

        Raises:
            BudgetExhaustedError: They could exceed the budget, or what was spent cannot be known.
        """
        with self._balance() as balance:
            price = requests * balance.max_request_usd if usd is None else usd
            self._refuse_beyond_budget(balance, tokens, price)
            balance.tokens += tokens
            balance.usd += price
            return Ticket(tokens=tokens, usd=price, is_priced=usd is not None)

    def settle_batch(self, ticket: Ticket, tokens: float, usd: float | None) -> None:
        """Replace what was reserved for a batch by what it took; see `settle`."""
        with self._balance() as balance:
            balance.tokens += tokens - ticket.tokens
            if usd is None and ticket.is_priced:
                return
            balance.usd += (usd or 0.0) - ticket.usd
            balance.unpriced += usd is None

    def left(self) -> tuple[float, float]:
        """Return the tokens and the US dollars that are left, infinite without a budget."""
        settings = self._settings
        with self._balance() as balance:
            tokens = inf if settings.budget_tokens is None else settings.budget_tokens
            usd = inf if settings.budget_usd is None else settings.budget_usd
            return tokens - balance.tokens, usd - balance.usd

    def spent(self) -> tuple[int, float]:
        """Return tokens and US dollars, those reserved included."""
        with self._balance() as balance:
            return round(balance.tokens), balance.usd

    def _refuse_beyond_budget(self, balance: _Balance, tokens: float, usd: float) -> None:
        settings = self._settings
        if settings.budget_usd is not None and balance.unpriced:
            of_all = self._run_end is None
            name = self._named if of_all else "the budget of this run"
            raise (BudgetExhaustedError if of_all else RunBudgetExhaustedError)(
                f"the price of {settings.model} is unknown, so {name} in US dollars cannot be "
                f"kept: set {settings.variables}BUDGET_TOKENS instead"
            )
        limits = (
            (f"{settings.variables}BUDGET_TOKENS", settings.budget_tokens, balance.tokens, tokens),
            (self._named, settings.budget_usd, balance.usd, usd),
        )
        if self._run_end is not None and balance.usd + usd > self._run_end:
            raise RunBudgetExhaustedError(
                f"the budget of this run has {max(0.0, self._run_end - balance.usd):,.6g} US "
                f"dollars left and the next request to {settings.model} may take {usd:,.6g}: what "
                "was paid for is stored; run the same command or deployment again to go on, with "
                "another budget for that run"
            )
        for name, limit, spent, more in limits:
            if limit is not None and spent + more > limit:
                raise BudgetExhaustedError(
                    f"{spent:,.6g} of {name}={limit:,.6g} are spent or reserved on "
                    f"{settings.model} and the next request may take {more:,.6g}: what was paid "
                    "for is stored; run the same command again with a higher budget to go on"
                )

    def _seconds_for(self, tokens: float) -> float:
        rate = self._settings.tokens_per_minute
        return tokens * 60 / rate if rate else 0.0

    @contextmanager
    def _balance(self) -> Iterator[_Balance]:
        """Read the file and write it back, with every other process locked out meanwhile."""
        with self._explained(), locked(self._file) as handle:
            content = os.pread(handle, _LAYOUT.size, 0)
            is_whole = len(content) == _LAYOUT.size
            balance = _Balance(*_LAYOUT.unpack(content)) if is_whole else _Balance()
            yield balance
            os.pwrite(handle, _LAYOUT.pack(*vars(balance).values()), 0)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the folder into one that says what to do."""
        try:
            yield
        except BlockingIOError:
            raise
        except OSError as error:
            raise BudgetExhaustedError(
                f"what is spent on {self._settings.model} cannot be written to {self._file} "
                f"({error}): make room there or make the folder writable, then run the same "
                "command again"
            ) from error
