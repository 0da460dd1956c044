"""Laws of the study's drawings, and of its page in a browser.

Covers `tasks.reports._axes`.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.reports.study import Line, StudySection, build_report, render_study
from tasks.reports.study.charts import HEIGHT, bar_charts
from tests.browser import open_page
from tests.fakes.studies import full_evidence


def section(values: list[int | float | None]) -> StudySection:
    lines = tuple(
        Line(row=f"{number} matches", column="queries", ours=value)
        for number, value in enumerate(values)
    )
    return StudySection(
        study="s", title="t", reading="r", command="c", problem="", lines=lines, differed={},
        chart=("queries",),
    )  # fmt: skip


@given(st.lists(st.integers(0, 400_000) | st.floats(0.001, 1), min_size=1, max_size=60))
def test_every_bar_is_inside_the_drawing_and_as_high_as_its_value(values: list[float]) -> None:
    (chart,) = bar_charts(section([*values]))
    assert len(chart.bars) == len(values)
    scale = (chart.up[0].at - chart.up[-1].at) or 1
    for bar, value in zip(chart.bars, values, strict=True):
        assert chart.left <= bar.x <= bar.x + bar.width <= chart.right
        assert 0 <= bar.y <= bar.y + bar.height <= chart.base + 0.01
        assert bar.height <= scale + 0.01
        assert (bar.height == 0) == (value == 0) or value * 1000 < max(values)
    assert chart.base < HEIGHT


def test_labels_are_the_rows_numbers_and_few_enough_to_be_read() -> None:
    (chart,) = bar_charts(section(list(range(1, 61))))
    labels = [bar.label for bar in chart.bars if bar.label]
    assert len(labels) == 20
    assert labels[:2] == ["0", "3"]


def test_a_column_without_figures_is_not_drawn() -> None:
    assert bar_charts(section([None])) == []


@pytest.mark.browser
def test_the_page_renders_without_a_complaint(tmp_path: Path) -> None:
    report = build_report(full_evidence(tmp_path), "t", "now")
    document, complaints = open_page(render_study(report), tmp_path)
    assert complaints == []
    assert document.count("<rect") == 20 + 5 + 10
