"""Laws of the budget of one run.

Covers `tasks.stages.annotate.effort`.
"""

import pickle
from pathlib import Path

import pytest

from agents.llm.rate_limit import SharedLimiter
from infra.errors import BudgetExhaustedError, RunBudgetExhaustedError
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from infra.store import open_database
from tasks.stages.annotate.budget import with_run_budget
from tasks.stages.annotate.effort import cost_of_reason, expected_of, history_of


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
    limiter = SharedLimiter(given.store.ledgers, LanguageModelSettings(model="openai/m"))
    limiter.settle(limiter.reserve(100, 0.75), 100, 0.75)
    ending = pickle.loads(pickle.dumps(with_run_budget(given)))  # as judges get it
    in_force = SharedLimiter(given.store.ledgers, ending.llm)
    assert in_force.settings.budget_usd == expected
    in_force.limit(None, 50.0)
    assert in_force.settings.budget_usd == (50.0 if of_run is None else 0.75 + of_run), (
        "what is set by hand for all runs widens no run"
    )
    in_force.limit(None, 0.5)
    assert in_force.settings.budget_usd == 0.5


def test_the_end_of_a_run_s_own_budget_is_told_from_that_of_all_runs(tmp_path: Path) -> None:
    given = with_run_budget(settings(tmp_path, 2.0, 10.0, "openai/m"))
    limiter = SharedLimiter(given.store.ledgers, given.llm)
    limiter.settle(limiter.reserve(100, 1.75), 100, 1.75)
    with pytest.raises(
        RunBudgetExhaustedError, match=r"this run has 0\.25 US dollars left.*take 1:"
    ):
        limiter.reserve(100, 1.0)
    limiter.limit(None, 1.0)
    with pytest.raises(
        BudgetExhaustedError, match=r"of `cosqa limit --budget-usd`=1 are"
    ) as of_all:
        limiter.reserve(100, 1.0)
    assert not isinstance(of_all.value, RunBudgetExhaustedError)


def test_the_demo_model_has_no_budget(tmp_path: Path) -> None:
    given = settings(tmp_path, 2.0, None, LanguageModelSettings().model)
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
