"""Laws of rounds that a spent budget ends: what needs no model is done all the same.

Covers `flows.annotate`.
"""

import sys
from typing import Any
from unittest.mock import MagicMock

import pytest

import flows.annotate  # noqa: F401 - the module, which its flow hides by its name
from infra.errors import BudgetExhaustedError, CosqaError, EngineUnavailableError, StoreError
from infra.settings import AnnotationSettings, Configuration, Settings
from tasks.runtime.references import JudgedPairs
from tasks.stages.annotate.rounds import AnnotationRun

ANNOTATE: Any = sys.modules["flows.annotate"]
ALL = ["judge_plan", "label_duplicates", "compare_behaviours"]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """Return what notes the steps of a round, which do nothing."""
    noted = MagicMock()
    for name in ALL:
        monkeypatch.setattr(ANNOTATE, name, getattr(noted, name))
    noted.judge_plan.return_value = (JudgedPairs(), [])
    return noted


def judge(configuration: Configuration = "spec") -> None:
    annotation = AnnotationSettings(configuration=configuration)
    run = AnnotationRun(MagicMock(), MagicMock(), Settings(annotation=annotation))
    ANNOTATE.judge_round(MagicMock(), run, [])


def met(steps: MagicMock) -> list[str]:
    return [name for name, *_ in steps.mock_calls if name in ALL]


def test_a_round_ends_with_its_duplicates_and_its_comparison(steps: MagicMock) -> None:
    judge()
    assert met(steps) == ALL


@pytest.mark.parametrize("comparison", [None, EngineUnavailableError("no engine")])
def test_so_does_one_that_its_budget_ends_and_says_so(
    steps: MagicMock, comparison: CosqaError | None
) -> None:
    steps.judge_plan.side_effect = BudgetExhaustedError("the budget is spent")
    steps.compare_behaviours.side_effect = comparison
    with pytest.raises(BudgetExhaustedError, match="the budget is spent"):
        judge()
    assert met(steps) == ALL


def test_after_other_failures_nothing_is_compared(steps: MagicMock) -> None:
    steps.judge_plan.side_effect = StoreError("gone")
    with pytest.raises(StoreError, match="gone"):
        judge()
    assert met(steps) == ["judge_plan"]


def test_where_queries_are_not_specified_nothing_is_compared(steps: MagicMock) -> None:
    judge("gated")
    assert met(steps) == ["judge_plan"]
