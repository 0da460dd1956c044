"""The rate limit that all workers of one API key share, and the budget that all of a model share.

They are kept in small files under a lock, beside the replies that the workers share anyway. To
divide the limits among workers instead would waste what idle ones don't use, since they come and
go.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path

from infra.errors import BudgetExhaustedError, RunBudgetExhaustedError, UnrecordableError
from infra.identity import mark
from infra.ledger import DamagedLedgerError, Ledger, Money, Pace
from infra.locks import locked
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
    """Paces requests and counts what they cost, over all processes that share its folder.

    Args:
        folder: Where the files of all models and keys are.
        settings: Model, address and key, by whose digests the files are named; limits and budget.
    """

    def __init__(self, folder: Path, settings: LanguageModelSettings) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        account = settings.model, settings.base_url or "", key
        self._money = Ledger(folder / mark("money", settings.model), Money)
        self._pace = Ledger(folder / mark("pace", *account), Pace)
        # Locked, shared, while requests are in flight.
        self._busy = self._money.file.with_name(f"{self._money.file.name}.busy")
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

    def reserve(self, tokens: int, usd: float | None = None) -> Ticket:
        """Reserve tokens and money for a request, which is sent once `take_turn` allows it.

        What is reserved counts as spent: a process that is killed may have been billed.

        Args:
            tokens: The most that it may take.
            usd: The most that it may cost; where unknown, the highest price so far is reserved.

        Raises:
            BudgetExhaustedError: The request could exceed the budget.
            UnrecordableError: What was spent cannot be known, or not be written down.
        """
        with self.balance(durable=self._has_budget()) as balance:
            price = balance.max_request_usd if usd is None else usd
            self.refuse_beyond_budget(balance, tokens, price)
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
        with self._explained(), self._pace.opened() as paced:
            if (ahead := paced.last_turn - now) > _SKEW_S:
                paced.last_turn -= ahead
                paced.next_token = max(0.0, paced.next_token - ahead)
            paced.next_token = min(paced.next_token, now + _LONGEST_PAUSE_S)
            due = max(paced.last_turn + pace, paced.next_token)
            if due > now:
                return due - now, ticket
            paced.last_turn = due if now - due < _LATE_S else now
            expected = paced.expected_tokens or ticket.tokens  # a reply rarely reaches its limit
            paced.next_token = paced.last_turn + self._seconds_for(expected)
            return 0.0, ticket.model_copy(update={"expected_tokens": expected})

    def settle(self, ticket: Ticket, tokens: float, usd: float | None) -> None:
        """Replace what was reserved for a request by what it took.

        Args:
            ticket: The reservation.
            tokens: What the provider counted, or the reservation where it did not.
            usd: The price; where it is unknown the reserved one stays, if that follows from the
                model's price.

        Raises:
            UnrecordableError: What was spent cannot be written down.
        """
        with self.balance() as balance:
            replace_reserved(balance, ticket, tokens, usd)
            balance.max_request_usd = max(balance.max_request_usd, usd or 0.0)
        if self._settings.tokens_per_minute:
            self._pace_by(ticket, min(tokens, ticket.tokens))

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Let other processes know inside the ``with`` that some of what is reserved may come back.

        The kernel ends it with the process.

        Raises:
            UnrecordableError: The folder cannot be written to.
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

    def left(self) -> tuple[float, float]:
        """Return the tokens and the US dollars that are left, infinite without a budget."""
        settings = self._settings
        with self.balance() as balance:
            tokens = inf if settings.budget_tokens is None else settings.budget_tokens
            usd = inf if settings.budget_usd is None else settings.budget_usd
            return tokens - balance.tokens, usd - balance.usd

    def knows_of_prices(self) -> bool:
        """Return whether a request to the model has told a price, or that it tells none."""
        with self.balance() as balance:
            return balance.max_request_usd > 0 or balance.unpriced > 0

    def spent(self) -> tuple[int, float]:
        """Return tokens and US dollars, those reserved included."""
        with self.balance() as balance:
            return round(balance.tokens), balance.usd

    def refuse_beyond_budget(self, balance: Money, tokens: float, usd: float) -> None:
        """Refuse a request that could take so much.

        Raises:
            BudgetExhaustedError: It could exceed the budget, or no price is known.
        """
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

    def _has_budget(self) -> bool:
        budgets = self._settings.budget_usd, self._settings.budget_tokens
        return any(budget is not None for budget in budgets)

    def _pace_by(self, ticket: Ticket, tokens: float) -> None:
        """Let the next request wait for what one took beyond what was expected."""
        with self._explained(), self._pace.opened() as paced:
            more = self._seconds_for(tokens - ticket.expected_tokens)
            paced.next_token = max(0.0, paced.next_token + more)
            if tokens:
                expected = paced.expected_tokens or tokens
                paced.expected_tokens = _SMOOTHING * expected + (1 - _SMOOTHING) * tokens

    @property
    def account(self) -> str:
        """The name of the ledger that has the model's money."""
        return self._money.file.name

    @contextmanager
    def balance(self, *, durable: bool = False) -> Iterator[Money]:
        """Yield what was spent, to be changed, with every other process locked out meanwhile.

        Args:
            durable: Whether the change is to survive a loss of power.

        Raises:
            UnrecordableError: It cannot be known, or not be written down.
        """
        with self._explained(), self._money.opened(durable=durable) as money:
            yield money

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the folder into one that says what to do."""
        model = self._settings.model
        try:
            yield
        except BlockingIOError:
            raise
        except DamagedLedgerError as error:
            raise UnrecordableError(
                f"what was spent on {model} cannot be known: {error}. Restore the file from a "
                "backup; or look up at the provider what was spent, lower the budget by it and "
                "remove the file. Then run the same command again"
            ) from error
        except OSError as error:
            raise UnrecordableError(
                f"what is spent on {model} cannot be written to {self._money.file} ({error}): make "
                "room there or make the folder writable, then run the same command again"
            ) from error


def replace_reserved(money: Money, ticket: Ticket, tokens: float, usd: float | None) -> None:
    """Put what a request took in the place of what was reserved for it."""
    money.tokens = max(0.0, money.tokens + tokens - ticket.tokens)
    if usd is None and ticket.is_priced:
        return
    money.usd = max(0.0, money.usd + (usd or 0.0) - ticket.usd)
    money.unpriced += usd is None
