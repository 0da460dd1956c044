"""Laws of an annotation plan."""

import pytest

from infra.settings import AnnotationSettings
from infra.store.pending import PairCounts
from tasks.stages.annotate.plan import pairs_to_judge


@pytest.mark.parametrize(
    ("candidates", "pending", "without_code", "demo", "expected"),
    [
        (100, 100, 0, False, 100),
        (100, 40, 0, False, 40),
        (100, 100, 0, True, 12),
        (100, 95, 0, True, 7),
        (100, 95, 5, True, 12),
        (100, 88, 0, True, 0),
        (100, 20, 0, True, 0),
        (5, 5, 0, True, 5),
    ],
)
def test_a_demo_model_judges_a_few_pairs_in_all_runs_together_and_others_judge_all(
    candidates: int, pending: int, without_code: int, demo: bool, expected: int
) -> None:
    counts = PairCounts(candidates=candidates, pending=pending, without_code=without_code)
    assert pairs_to_judge(counts, AnnotationSettings(), demo=demo) == expected
