"""Laws of reciprocal rank fusion."""

import pytest

from tasks.benchmarks.runs import rankings_of
from tasks.ranking.fusion import fuse

FIRST = rankings_of({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
SECOND = rankings_of({"q": {"c": 900.0, "d": 800.0}, "p": {"x": 1.0}})


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = {(query, code): score for query, code, score in fuse([FIRST, SECOND], 10).rows()}
    assert fused == pytest.approx(
        {
            ("p", "x"): 1 / 61,
            ("q", "c"): 1 / 63 + 1 / 61,
            ("q", "a"): 1 / 61,
            ("q", "b"): 1 / 62,
            ("q", "d"): 1 / 62,
        }
    )


def test_ties_fall_by_id_and_the_depth_holds() -> None:
    fused = fuse([FIRST, SECOND], 3)
    assert [code for query, code, _ in fused.rows() if query == "q"] == ["c", "a", "b"]


def test_the_order_of_the_methods_changes_nothing() -> None:
    assert list(fuse([FIRST, SECOND], 4).rows()) == list(fuse([SECOND, FIRST], 4).rows())


def test_a_ranking_fused_with_itself_keeps_its_order() -> None:
    twice = [code for _, code, _ in fuse([FIRST, FIRST], 3).rows()]
    assert twice == [code for _, code, _ in FIRST.rows()]
