"""Laws of rounds that a spent budget ends: what needs no model is done all the same.

Covers `flows.annotate`.
"""

import sys
from typing import Any
from unittest.mock import MagicMock

import pytest

import flows.annotate  # noqa: F401 - the module, which its flow hides by its name
from infra.errors import BudgetExhaustedError, CosqaError, EngineUnavailableError, StoreError
from tasks.runtime.references import JudgedPairs

ANNOTATE: Any = sys.modules["flows.annotate"]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """Return what notes the steps of a round, which do nothing."""
    noted = MagicMock()
    for name in ("judge_plan", "label_duplicates_of_round", "compare_round"):
        monkeypatch.setattr(ANNOTATE, name, getattr(noted, name))
    noted.judge_plan.return_value = (JudgedPairs(), [])
    return noted


def judge() -> None:
    ANNOTATE.judge_round(MagicMock(), MagicMock(), [])


ALL = ["judge_plan", "label_duplicates_of_round", "compare_round"]


def test_a_round_ends_with_its_duplicates_and_its_comparison(steps: MagicMock) -> None:
    judge()
    assert [call[0] for call in steps.mock_calls] == ALL


@pytest.mark.parametrize("comparison", [None, EngineUnavailableError("no engine")])
def test_so_does_one_that_its_budget_ends_and_says_so(
    steps: MagicMock, comparison: CosqaError | None
) -> None:
    steps.judge_plan.side_effect = BudgetExhaustedError("the budget is spent")
    steps.compare_round.side_effect = comparison
    with pytest.raises(BudgetExhaustedError, match="the budget is spent"):
        judge()
    assert [call[0] for call in steps.mock_calls] == ALL


def test_after_other_failures_nothing_is_compared(steps: MagicMock) -> None:
    steps.judge_plan.side_effect = StoreError("gone")
    with pytest.raises(StoreError, match="gone"):
        judge()
    assert [call[0] for call in steps.mock_calls] == ["judge_plan"]
