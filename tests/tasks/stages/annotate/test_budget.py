"""Laws of the budget of one run.

Covers `infra.budget`.
"""

import pickle
from math import inf
from pathlib import Path

import pytest

from agents.llm.ledger import JournalLedger, journal_ledger
from infra.budget import Budget, run_budget
from infra.errors import BudgetExhaustedError
from infra.settings import (
    LanguageModelSettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from tests.fakes.journals import spend


def settings(folder: Path, of_run: float | None, shared: float | None, model: str) -> Settings:
    return Settings(
        store=StoreSettings(folder=folder),
        llm=LanguageModelSettings(model=model, budget_usd=shared),
        reannotation=ReannotationSettings(budget_usd=of_run),
    )


def budget_of(given: Settings) -> Budget:
    return run_budget(given.store, given.llm, given.reannotation.budget_usd)


def ledger_of(given: Settings, budget: Budget) -> JournalLedger:
    """Return the ledger with a budget as shards get it."""
    return journal_ledger(given.store, given.llm, pickle.loads(pickle.dumps(budget)))


@pytest.mark.parametrize(
    ("of_run", "shared", "expected"),
    [(2.0, None, 2.0), (2.0, 10.0, 2.0), (2.0, 1.0, 0.25), (None, 3.0, 2.25), (None, None, inf)],
)
def test_a_run_may_spend_its_budget_beyond_what_is_spent_within_that_of_all_runs(
    tmp_path: Path, of_run: float | None, shared: float | None, expected: float
) -> None:
    given = settings(tmp_path, of_run, shared, "openai/m")
    spend(journal_ledger(given.store, LanguageModelSettings(model="openai/m")), 100, 0.75)
    assert ledger_of(given, budget_of(given)).left()[1] == expected


def test_the_end_of_a_run_s_own_budget_is_told_from_that_of_all_runs(tmp_path: Path) -> None:
    given = settings(tmp_path, 2.0, 10.0, "openai/m")
    ledger = journal_ledger(given.store, given.llm, budget_of(given))
    spend(ledger, 100, 1.75)
    with pytest.raises(
        BudgetExhaustedError, match=r"this run has 0\.25 US dollars left.*take 1 beside"
    ):
        spend(ledger, 100, 1.0)
    spend(ledger, 100, 0.24999)
    with pytest.raises(BudgetExhaustedError, match=r"this run has 0\.00001 US dollars left"):
        spend(ledger, 100, 1.0)
    less = given.llm.model_copy(update={"budget_usd": 1.0})
    with pytest.raises(BudgetExhaustedError, match=r"BUDGET_USD=1 are"):
        spend(journal_ledger(given.store, less, budget_of(given)), 100, 1.0)


@pytest.mark.parametrize("of_run", [None, 2.0])
def test_a_run_s_own_cost_is_counted_from_its_beginning_over_all_its_rounds(
    tmp_path: Path, of_run: float | None
) -> None:
    given = settings(tmp_path, of_run, None, "openai/m")

    ledger = journal_ledger(given.store, given.llm)

    def own() -> tuple[int, float]:
        return ledger_of(given, budget).spent()

    spend(ledger, 100, 4.0)
    budget = budget_of(given)
    assert own() == (0, 0.0)
    spend(ledger, 100, 0.5)
    assert own() == (100, 0.5), "a later round"
    spend(ledger, 100, 0.25)
    assert own() == (200, 0.75)


def test_recorded_replies_have_no_budget(tmp_path: Path) -> None:
    given = settings(tmp_path, 2.0, None, "recorded/stdlib-sample")
    assert budget_of(given).limit_usd is None
