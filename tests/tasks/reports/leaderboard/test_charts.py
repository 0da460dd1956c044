"""Laws of the leaderboard's drawings."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.reports.leaderboard.charts import _apart, interval_chart, recall_chart
from tests.tasks.reports.leaderboard.cases import leaderboard


def test_whiskers_stand_in_the_order_of_the_table_inside_the_drawing() -> None:
    board = leaderboard()
    chart = interval_chart(board, "NDCG@10")
    assert [mark.method for mark in chart.whiskers] == [each.method for each in board.rows]
    for mark in chart.whiskers:
        assert chart.left <= mark.low <= mark.mean <= mark.high <= chart.right
        assert 0 < mark.y < chart.base


def test_lines_rise_and_their_labels_do_not_touch() -> None:
    chart = recall_chart(leaderboard())
    for line in chart.lines:
        heights = [float(point.split(",")[1]) for point in line.points.split()]
        assert heights == sorted(heights, reverse=True)
        assert chart.top <= line.label <= chart.base
    labels = sorted(line.label for line in chart.lines)
    assert all(lower - upper >= 14.99 for upper, lower in pairwise(labels))


@given(st.lists(st.floats(12, 272), max_size=12))
def test_labels_keep_their_order_and_their_distance(places: list[float]) -> None:
    found = _apart(places, gap=15, lowest=272)
    assert max(found, default=0) <= 272
    ordered = sorted(zip(places, found, strict=True))
    for (_, upper), (_, lower) in pairwise(ordered):
        assert abs(lower - upper) >= 15 - 1e-9
    assert [each for _, each in ordered] == pytest.approx(sorted(found)) or len(set(places)) < len(
        places
    )
