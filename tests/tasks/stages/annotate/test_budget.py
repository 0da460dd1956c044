"""Laws of the budget of one run.

Covers `tasks.stages.annotate.effort`.
"""

import pickle
from math import inf
from pathlib import Path

import pytest

from infra.errors import BudgetExhaustedError, RunBudgetExhaustedError
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from infra.store import open_database
from tasks.stages.annotate.budget import spent_before, with_run_budget, with_shared_budget
from tasks.stages.annotate.effort import cost_of_reason, expected_of, history_of
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
    ending = pickle.loads(pickle.dumps(with_run_budget(given)))  # as judges get it
    in_force = limiter_of(given.store, ending.llm)
    assert in_force.settings.budget_usd == expected
    in_force.limit(None, 50.0)
    assert in_force.settings.budget_usd == (50.0 if of_run is None else 0.75 + of_run), (
        "what is set by hand for all runs widens no run"
    )
    in_force.limit(None, 0.5)
    assert in_force.settings.budget_usd == 0.5


def test_the_end_of_a_run_s_own_budget_is_told_from_that_of_all_runs(tmp_path: Path) -> None:
    given = with_run_budget(settings(tmp_path, 2.0, 10.0, "openai/m"))
    limiter = limiter_of(given.store, given.llm)
    limiter.settle(limiter.reserve(100, 1.75).result(), 100, 1.75).result()
    with pytest.raises(
        RunBudgetExhaustedError, match=r"this run has 0\.25 US dollars left.*take 1:"
    ):
        limiter.reserve(100, 1.0).result()
    limiter.limit(None, 1.0)
    with pytest.raises(
        BudgetExhaustedError, match=r"of `cosqa limit --budget-usd`=1 are"
    ) as of_all:
        limiter.reserve(100, 1.0).result()
    assert not isinstance(of_all.value, RunBudgetExhaustedError)


def test_a_run_that_judges_nothing_keeps_to_the_budget_of_all_judges(tmp_path: Path) -> None:
    judges = AnnotationSettings(judges=("openai/cheap", "openai/dear"))
    given = settings(tmp_path, 2.0, 10.0, "openai/cheap").model_copy(update={"annotation": judges})
    dear = limiter_of(given.store, LanguageModelSettings(model="openai/dear"))
    dear.settle(dear.reserve(100, 9.5).result(), 100, 9.5).result()
    limiter = limiter_of(given.store, with_shared_budget(given).llm)
    assert limiter.left()[1] == pytest.approx(0.5)
    limiter.limit(None, 12.0)
    assert limiter.left()[1] == pytest.approx(2.5)


def test_budgets_are_of_all_judges_together(tmp_path: Path) -> None:
    """What the other judge has spent, before the run and in it, is taken off both budgets."""
    judges = AnnotationSettings(judges=("openai/cheap", "openai/dear"))
    given = settings(tmp_path, 2.0, 10.0, "openai/other").model_copy(update={"annotation": judges})

    def spend(model: str, usd: float) -> None:
        limiter = limiter_of(given.store, LanguageModelSettings(model=model))
        limiter.settle(limiter.reserve(100, usd).result(), 100, usd).result()

    spend("openai/cheap", 0.5)
    spend("openai/dear", 4.0)
    before = spent_before(given)
    cheap, dear = given.by_judge

    def bounds(judge: Settings, by_hand: float | None = None) -> tuple[float | None, float | None]:
        llm = pickle.loads(pickle.dumps(with_run_budget(judge, before))).llm  # as judges get it
        limiter = limiter_of(given.store, llm.ending_at(inf))
        limiter.limit(None, by_hand)
        return limiter.settings.budget_usd, llm.run_ends_usd

    assert bounds(cheap) == (6.0, 0.5 + 2.0)
    spend("openai/cheap", 1.5)
    assert bounds(dear) == (8.0, 4.0 + 0.5)
    assert bounds(dear, by_hand=5.0) == (3.0, 4.0 + 0.5), "what is set by hand is of all judges too"
    spend("openai/cheap", 20.0)
    assert bounds(dear) == bounds(dear, by_hand=5.0) == (0.0, 0.0)
    limiter = limiter_of(given.store, with_run_budget(dear, before).llm)
    with pytest.raises(BudgetExhaustedError):
        limiter.reserve(100, 0.01).result()


def test_a_budget_that_is_set_by_hand_alone_is_of_all_judges_together(tmp_path: Path) -> None:
    judges = AnnotationSettings(judges=("openai/cheap", "openai/dear"))
    given = settings(tmp_path, None, None, "openai/other").model_copy(update={"annotation": judges})
    cheap, dear = given.by_judge
    limiter = limiter_of(given.store, cheap.llm)
    limiter.settle(limiter.reserve(100, 4.0).result(), 100, 4.0).result()
    limiter = limiter_of(given.store, with_run_budget(dear).llm)
    assert limiter.settings.budget_usd is None
    limiter.limit(None, 4.5)
    assert limiter.settings.budget_usd == 0.5


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
        spending = Spending(pickle.loads(pickle.dumps(with_run_budget(judge, before))))
        return spending.tokens - spending.before_tokens, spending.usd - spending.before_usd

    spend(cheap, 4.0)
    spend(dear, 8.0)
    before = spent_before(given)
    assert own(cheap) == (0, 0.0)
    spend(cheap, 0.5)
    assert own(cheap) == (100, 0.5), "a later round, or pass between batches"
    assert own(dear) == (100, 0.5)
    spend(dear, 0.25)
    assert own(dear) == own(cheap) == (200, 0.75)


def test_recorded_replies_have_no_budget(tmp_path: Path) -> None:
    given = settings(tmp_path, 2.0, None, "recorded/stdlib-sample")
    assert with_run_budget(given) == given


def test_without_history_a_pair_costs_its_usual_tokens_at_the_models_price(
    tmp_path: Path,
) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    dear = settings(tmp_path, None, None, "openai/gpt-4o")
    cheap = settings(tmp_path, None, None, "openai/gpt-4o-mini")
    costs = [cost_of_reason({"": 5.0}, history_of(database, item), item) for item in (dear, cheap)]
    assert costs[0]
    assert costs[1]
    assert costs[0] > 10 * costs[1]
    batch = cheap.model_copy(update={"annotation": AnnotationSettings(batch=True)})
    half = expected_of({"": 1.0}, history_of(database, batch), batch).usd
    assert half
    assert half.expected == pytest.approx(costs[1] / 2)
    assert cost_of_reason({}, history_of(database, cheap), cheap) is None
