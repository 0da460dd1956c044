"""Laws of the comparison of methods on the same queries."""

import numpy as np
import pytest

from infra.errors import EstimationError
from tasks.estimation.comparison import compare_methods
from tests.fakes.estimations import estimated

GOOD, BAD = estimated("good"), estimated("bad", noise=1.6)


def test_methods_are_ordered_by_their_best_estimate() -> None:
    found = compare_methods([BAD, GOOD])
    assert [method for method, _ in found.order] == ["good", "bad"]
    combined = GOOD.scores["MRR"].combined
    assert combined is not None
    assert found.order[0][1] == combined.mean
    unlabelled = compare_methods([estimated("a", labels=0, noise=1.6), estimated("b", labels=0)])
    assert [method for method, _ in unlabelled.order] == ["b", "a"]
    assert unlabelled.differences[0].combined is None
    assert unlabelled.differences[0].kape > 0


def test_a_difference_is_taken_query_by_query() -> None:
    (found,) = compare_methods([GOOD, BAD]).differences
    assert GOOD.judged is not None
    assert BAD.judged is not None
    true = np.array(GOOD.judged.true["MRR"]) - np.array(BAD.judged.true["MRR"])
    assert found.sample is not None
    assert found.combined is not None
    assert found.sample.mean == pytest.approx(true.mean())
    half = (found.sample.high - found.sample.low) / 2
    own = [each.scores["MRR"].sample for each in (GOOD, BAD)]
    assert half < sum((each.high - each.low) / 2 for each in own if each)
    assert found.combined.high - found.combined.low <= 2 * half
    assert found.sample.level == 0.95


def test_intervals_of_all_differences_hold_together() -> None:
    found = compare_methods([GOOD, BAD, estimated("third", noise=1.2)])
    assert len(found.differences) == 3
    assert found.level == pytest.approx(1 - 0.05 / 3)


def test_equal_methods_are_not_told_apart() -> None:
    (found,) = compare_methods([GOOD, estimated("same")]).differences
    assert found.kape == 0
    assert found.combined is not None
    assert found.combined.low < 0 < found.combined.high


def test_other_judged_queries_give_no_difference() -> None:
    (found,) = compare_methods([GOOD, estimated("b", labels=39)]).differences
    assert found.sample is None


def test_one_method_or_other_queries_are_refused() -> None:
    with pytest.raises(EstimationError, match="1 method"):
        compare_methods([GOOD])
    with pytest.raises(EstimationError, match="other queries"):
        compare_methods([GOOD, BAD.model_copy(update={"queries": 7})])
