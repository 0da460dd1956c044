"""Laws of an estimate's drawings, and of its page in a browser."""

from pathlib import Path

import pytest

from tasks.reports.estimation import render_estimation
from tasks.reports.estimation.charts import WIDTH, density_chart, interval_chart
from tests.browser import open_page
from tests.fakes.estimations import estimated, estimation_report


@pytest.mark.parametrize("labels", [0, 1, 40, 200])
@pytest.mark.parametrize("far", [False, True])
def test_every_mark_is_inside_the_drawing(labels: int, far: bool) -> None:
    estimates = [estimated(labels=labels, far=far), estimated("two", labels=0)]
    chart = interval_chart(estimates, "MRR")
    assert len(chart.rows) == 2
    assert (chart.rows[0].kape is None) == far
    for row in chart.rows:
        assert 0 < row.y < chart.base < chart.height
        marks = [each for span in (row.sample, row.combined) if span
                 for each in (span.low, span.mean, span.high)]  # fmt: skip
        marks += [row.kape] if row.kape is not None else []
        assert all(chart.left <= mark <= chart.right < WIDTH for mark in marks)
    assert [tick.at for tick in chart.ticks] == sorted(tick.at for tick in chart.ticks)


@pytest.mark.parametrize("far", [False, True])
def test_both_densities_are_inside_and_one_of_them_reaches_the_top(far: bool) -> None:
    chart = density_chart(estimated(far=far))
    assert chart.training is not None
    heights = []
    for curve in (chart.queries, chart.training):
        points = [tuple(map(float, point.split(","))) for point in curve.points.split()]
        assert all(chart.left <= x <= chart.right for x, _ in points)
        assert all(chart.top <= y <= chart.base for _, y in points)
        assert chart.left <= curve.median <= chart.right
        heights.append(min(y for _, y in points))
    assert min(heights) == chart.top
    assert "200 queries: median" in chart.queries.tooltip


@pytest.mark.browser
@pytest.mark.parametrize("far", [False, True])
def test_the_page_renders_without_a_complaint(tmp_path: Path, far: bool) -> None:
    hostile = "<img src=x onerror=document.title='owned'>"
    document, complaints = open_page(
        render_estimation(estimation_report(hostile, "two", far=far)), tmp_path
    )
    assert complaints == []
    assert "<title>owned" not in document
    assert "<img" not in document
    assert document.count("<svg") == 2 + 2
