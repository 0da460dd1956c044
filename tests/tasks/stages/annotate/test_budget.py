"""Laws of the budget of one run.

Covers `infra.budget`.
"""

import pickle
from pathlib import Path

import pytest

from agents import build_model
from infra.budget import Budget, run_budget
from infra.errors import BudgetExhaustedError, RunBudgetExhaustedError
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from tasks.stages.annotate.run_watch import Spending
from tests.fakes.journals import limiter_of


def settings(folder: Path, of_run: float | None, shared: float | None, model: str) -> Settings:
    return Settings(
        store=StoreSettings(folder=folder),
        llm=LanguageModelSettings(model=model, budget_usd=shared),
        reannotation=ReannotationSettings(budget_usd=of_run),
    )


@pytest.mark.parametrize(
    ("of_run", "shared", "expected"),
    [(2.0, None, 2.75), (2.0, 10.0, 2.75), (2.0, 1.0, 1.0), (None, 3.0, 3.0), (None, None, None)],
)
def test_a_run_may_spend_its_budget_beyond_what_is_spent_within_that_of_all_runs(
    tmp_path: Path, of_run: float | None, shared: float | None, expected: float | None
) -> None:
    given = settings(tmp_path, of_run, shared, "openai/m")
    limiter = limiter_of(given.store, LanguageModelSettings(model="openai/m"))
    limiter.settle(limiter.reserve(100, 0.75).result(), 100, 0.75).result()
    in_force = Spending(given, pickle.loads(pickle.dumps(run_budget(given))))  # as judges get it
    assert in_force.most_usd == expected


def test_the_end_of_a_run_s_own_budget_is_told_from_that_of_all_runs(tmp_path: Path) -> None:
    given = settings(tmp_path, 2.0, 10.0, "openai/m")
    limiter = limiter_of(given.store, given.llm, run_budget(given))
    limiter.settle(limiter.reserve(100, 1.75).result(), 100, 1.75).result()
    with pytest.raises(
        RunBudgetExhaustedError, match=r"this run has 0\.25 US dollars left.*take 1:"
    ):
        limiter.reserve(100, 1.0).result()
    less = given.llm.model_copy(update={"budget_usd": 1.0})
    with pytest.raises(BudgetExhaustedError, match=r"BUDGET_USD=1 are") as of_all:
        limiter_of(given.store, less, run_budget(given)).reserve(100, 1.0).result()
    assert not isinstance(of_all.value, RunBudgetExhaustedError)


def test_a_run_that_judges_nothing_keeps_to_the_budget_of_all_judges(tmp_path: Path) -> None:
    judges = AnnotationSettings(judges=("openai/cheap", "openai/dear"))
    given = settings(tmp_path, 2.0, 10.0, "openai/cheap").model_copy(update={"annotation": judges})
    dear = limiter_of(given.store, LanguageModelSettings(model="openai/dear"))
    dear.settle(dear.reserve(100, 9.5).result(), 100, 9.5).result()
    limiter = build_model(given)._reservations._limiter  # type: ignore[attr-defined]
    assert limiter.left()[1] == pytest.approx(0.5)


def test_budgets_are_of_all_judges_together(tmp_path: Path) -> None:
    """What the other judge has spent, before the run and in it, is taken off both budgets."""
    judges = AnnotationSettings(judges=("openai/cheap", "openai/dear"))
    given = settings(tmp_path, 2.0, 10.0, "openai/other").model_copy(update={"annotation": judges})

    def spend(model: str, usd: float) -> None:
        limiter = limiter_of(given.store, LanguageModelSettings(model=model))
        limiter.settle(limiter.reserve(100, usd).result(), 100, usd).result()

    spend("openai/cheap", 0.5)
    spend("openai/dear", 4.0)
    budget = pickle.loads(pickle.dumps(run_budget(given)))  # as judges get it
    cheap, dear = given.by_judge

    def bounds(judge: Settings) -> tuple[float | None, float | None]:
        """Return what the model may have cost by the budget of all runs, and by the run's."""
        of_all = Spending(judge, Budget(models=budget.models))
        alone = judge.llm.model_copy(update={"budget_usd": None})
        return of_all.most_usd, Spending(judge.model_copy(update={"llm": alone}), budget).most_usd

    assert bounds(cheap) == (6.0, 0.5 + 2.0)
    spend("openai/cheap", 1.5)
    assert bounds(dear) == (8.0, 4.0 + 0.5)
    spend("openai/cheap", 20.0)
    assert bounds(dear) == (0.0, 0.0)
    limiter = limiter_of(given.store, dear.llm, budget)
    with pytest.raises(BudgetExhaustedError):
        limiter.reserve(100, 0.01).result()


def test_what_another_judge_spends_meanwhile_counts_and_what_it_may_give_back_is_waited_for(
    tmp_path: Path,
) -> None:
    judges = AnnotationSettings(judges=("openai/cheap", "openai/dear"))
    given = settings(tmp_path, 2.0, None, "openai/cheap")
    given = given.model_copy(update={"annotation": judges})
    cheap, dear = (limiter_of(given.store, one.llm, run_budget(given)) for one in given.by_judge)
    ticket = cheap.reserve(100, 1.75).result()
    with cheap.in_flight():
        assert dear.is_idle()
        assert not dear.is_idle(beside=True)
        with pytest.raises(RunBudgetExhaustedError, match=r"this run has 0\.25 US dollars left"):
            dear.reserve(100, 1.0).result()
    cheap.settle(ticket, 100, 0.5).result()
    assert dear.is_idle(beside=True)
    dear.reserve(100, 1.0).result()
    assert cheap.left()[1] == dear.left()[1] == pytest.approx(0.5)


@pytest.mark.parametrize("of_run", [None, 2.0])
def test_a_run_s_own_cost_is_counted_from_its_beginning_over_all_its_rounds_and_judges(
    tmp_path: Path, of_run: float | None
) -> None:
    judges = AnnotationSettings(judges=("openai/cheap", "openai/dear"))
    given = settings(tmp_path, of_run, None, "openai/other")
    given = given.model_copy(update={"annotation": judges})
    cheap, dear = given.by_judge

    def spend(judge: Settings, usd: float) -> None:
        limiter = limiter_of(given.store, judge.llm)
        limiter.settle(limiter.reserve(100, usd).result(), 100, usd).result()

    def own(judge: Settings) -> tuple[int, float]:
        return Spending(judge, pickle.loads(pickle.dumps(budget))).by_run

    spend(cheap, 4.0)
    spend(dear, 8.0)
    budget = run_budget(given)
    assert own(cheap) == (0, 0.0)
    spend(cheap, 0.5)
    assert own(cheap) == (100, 0.5), "a later round, or pass between batches"
    assert own(dear) == (100, 0.5)
    spend(dear, 0.25)
    assert own(dear) == own(cheap) == (200, 0.75)


def test_recorded_replies_have_no_budget(tmp_path: Path) -> None:
    given = settings(tmp_path, 2.0, None, "recorded/stdlib-sample")
    assert run_budget(given).limit_usd is None
