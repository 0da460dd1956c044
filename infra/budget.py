"""Budgets: how much may be spent on a model, whose each is, and the check of all of them."""

from math import inf
from typing import Literal

from infra.errors import BudgetExhaustedError, RunBudgetError, UnknownPriceError
from infra.journal import Journal, Money
from infra.records import Record
from infra.settings import LanguageModelSettings, StoreSettings


class Budget(Record):
    """The limits of spending on a model.

    Attributes:
        limit_usd: The most US dollars; None is no limit.
        limit_tokens: The most tokens; None is no limit.
        owner: A run, or the store by its settings.
        before_usd: What the model had cost when this budget began, which does not count.
        before_tokens: The same in tokens.
    """

    limit_usd: float | None = None
    limit_tokens: int | None = None
    owner: Literal["run", "store"] = "run"
    before_usd: float = 0.0
    before_tokens: float = 0.0

    def spent(self, money: Money) -> tuple[float, float]:
        """Return the tokens and US dollars that count of what was spent on the model."""
        return money.tokens - self.before_tokens, money.usd - self.before_usd

    def left(self, money: Money) -> tuple[float, float]:
        """Return the tokens and US dollars that are left, infinite without a limit."""
        limits = self.limit_tokens, self.limit_usd
        tokens, usd = (inf if limit is None else limit for limit in limits)
        spent = self.spent(money)
        return tokens - spent[0], usd - spent[1]


def run_budget(store: StoreSettings, llm: LanguageModelSettings, limit_usd: float | None) -> Budget:
    """Return the budget of a run that begins now, over all its rounds, in US dollars.

    Recorded replies cost nothing: such a run has no limit.
    """
    money = Journal(store.journal).spent(llm.model)
    limit = None if llm.is_recorded else limit_usd
    return Budget(limit_usd=limit, before_usd=money.usd, before_tokens=money.tokens)


class Budgets:
    """All budgets that hold for requests of a run to a model: the store's, and the run's.

    Args:
        llm: The model that is asked, with the store's budget for it.
        run: The run's budget.

    Attributes:
        are_in_usd: Whether one has a limit in US dollars.
        are_limited: Whether one has any limit.
    """

    def __init__(self, llm: LanguageModelSettings, run: Budget) -> None:
        own = Budget(limit_usd=llm.budget_usd, limit_tokens=llm.budget_tokens, owner="store")
        self._budgets = (own, run)
        self._model, self._variables = llm.model, llm.variables
        self.are_in_usd = any(each.limit_usd is not None for each in self._budgets)
        self.are_limited = self.are_in_usd or any(
            each.limit_tokens is not None for each in self._budgets
        )

    def left(self, money: Money) -> tuple[float, float]:
        """Return the tokens and US dollars that are left, infinite without a limit."""
        tokens, usd = zip(*(each.left(money) for each in self._budgets), strict=True)
        return min(tokens), min(usd)

    def refuse_beyond(self, money: Money, most: tuple[float, float]) -> None:
        """Refuse a request that could exceed a budget, the one with the fewest dollars left first.

        Args:
            money: What was spent on the model and is reserved for it.
            most: The most tokens and US dollars that the request may take.

        Raises:
            RunBudgetError: It could exceed the run's own.
            BudgetExhaustedError: It could exceed the store's.
            UnknownPriceError: The model's price is unknown, and one is in dollars.
        """
        in_tokens = f"{self._variables}BUDGET_TOKENS"
        for budget in sorted(self._budgets, key=lambda each: each.left(money)[1]):
            is_of_run = budget.owner == "run"
            in_usd = "the budget of this run" if is_of_run else f"{self._variables}BUDGET_USD"
            if budget.limit_usd is not None and money.unpriced:
                raise UnknownPriceError(
                    f"the price of {self._model} is unknown, so {in_usd} in US dollars cannot be "
                    f"kept: set {in_tokens} instead"
                )
            limits = budget.limit_tokens, budget.limit_usd
            for name, limit, spent, more in zip(
                (in_tokens, in_usd), limits, budget.spent(money), most, strict=True
            ):
                if limit is None or spent + more <= limit:
                    continue
                if is_of_run:
                    left = _plain(max(0.0, limit - spent))
                    raise RunBudgetError(
                        f"{name} has {left} US dollars left and the next request to {self._model} "
                        f"may take {_plain(more)} beside those in flight: what was paid for is "
                        "stored; run the same command or deployment again to go on, with another "
                        "budget for that run"
                    )
                raise BudgetExhaustedError(
                    f"{_plain(spent)} of {name}={_plain(limit)} are spent or reserved for requests "
                    f"in flight to {self._model}, and the next one may take {_plain(more)}: what "
                    "was paid for is stored; run the same command again to go on, with a higher "
                    "budget, or fewer pairs at a time (COSQA_ANNOTATION__IN_FLIGHT)"
                )


def _plain(number: float) -> str:
    """Return a number of tokens or US dollars without an exponent."""
    return f"{number:,.8f}".rstrip("0").rstrip(".")
