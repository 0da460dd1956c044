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
    assert [mark.letter for mark in chart.whiskers] == [row.letter for row in board.rows]
    for mark in chart.whiskers:
        assert chart.left <= mark.low <= mark.mean <= mark.high <= chart.right
        assert 0 < mark.y < chart.base


def test_long_names_are_shortened_and_whole_in_the_tooltip() -> None:
    board = leaderboard()
    name = "bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2"
    rows = (board.rows[0].model_copy(update={"method": name}), *board.rows[1:])
    board = board.model_copy(update={"rows": rows})
    for mark in (interval_chart(board, "MRR").whiskers[0], recall_chart(board).lines[0]):
        assert mark.name == "bag-of-wor…niLM-L6-v2"
        assert name in mark.tooltip


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
