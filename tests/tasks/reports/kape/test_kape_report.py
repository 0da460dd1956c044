"""Laws of the KAPE report: its tables, its drawings, its page.

Covers `tasks.reports.kape.*`.
"""

import re
from pathlib import Path

import pytest

from tasks.estimation.study_figures import BUDGETS
from tasks.estimators import MEASURES
from tasks.reports.kape import (
    KapeReport,
    build_kape_report,
    figures_table,
    kape_markdown,
    render_kape,
    tables,
    terminal_tables,
)
from tasks.reports.kape.charts import (
    HEIGHT,
    WIDTH,
    density_charts,
    estimate_charts,
    half_charts,
    style_numbers,
)
from tasks.reports.text import NONE
from tests.browser import open_page
from tests.fakes.kape_study import kape_report, studied_method

HOSTILE = "</style><script>document.title='owned'</script>|<img src=x onerror=a>"


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, _, y in (each.partition(",") for each in text.split())]


def test_every_table_has_as_many_cells_as_columns_and_a_row_for_each_method() -> None:
    report = kape_report()
    shown = terminal_tables(report)
    assert len(shown) == 6
    for table in [*shown, tables.table6(report), tables.used_table(report), tables.table3(report)]:
        assert {len(row) for row in table.rows} == {len(table.header)}, table.caption
    assert len(tables.table5(report).rows) == 4
    assert len(tables.summary_table(report).rows) == 4 * 4  # KAPE twice, two others


def test_errors_and_shares_of_labels_are_those_of_the_figures() -> None:
    report = kape_report()
    first = report.studied[0].figures
    row = tables.summary_table(report).rows[1]
    error = abs(first.whole.kape_estimate(5, "MRR") - first.whole.truth["MRR"])
    in_all = first.ranked_in_all.percent_below("MRR", error)
    assert row[:2] == ("docs, good", "kape, k = 5")
    assert row[4] == f"{error:.4f}"
    assert row[6] == f"{in_all:g}%"
    assert tables.percent(None) == "never"


def test_an_estimator_without_labels_stands_in_a_column_of_its_own() -> None:
    studied = kape_report().studied[0]
    table = tables.table4(studied, studied.figures.whole, "MRR")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["kape, k = 5"][0] != NONE
    assert set(rows["kape, k = 5"][1:]) == {NONE}
    assert rows["random-training"][0] != NONE
    assert rows["deepgini"][0] == NONE
    assert NONE not in rows["random-test, deviation"][1:]
    assert "deepgini, deviation" not in rows


def test_methods_are_ordered_by_estimate_and_by_truth() -> None:
    selections = kape_report().selections
    assert {(each.name, each.measure) for each in selections} == {
        (name, measure) for name in ("docs", "cosqa") for measure in MEASURES
    }
    assert {(each.by_kape, each.by_truth, each.tau) for each in selections} == {
        (("good", "bad"), ("good", "bad"), 1.0)
    }
    alone = build_kape_report([studied_method("docs", "good", 0.8)], "now")
    assert alone.selections == ()


def test_lines_and_bands_are_inside_the_drawing_and_end_at_the_last_budget() -> None:
    report = kape_report()
    charts = [*estimate_charts(report, "MRR"), *half_charts(report, "MRR")]
    assert len(charts) == 4 + 8
    for chart in charts:
        for curve in chart.curves:
            line = points(curve.points)
            assert len(line) == len(BUDGETS)
            assert line[-1][0] == chart.axes.right
            for x, y in [*line, *points(curve.band)]:
                assert chart.axes.left <= x <= chart.axes.right
                assert chart.axes.top <= y <= chart.axes.base
            assert bool(curve.band) == (curve.name.startswith("random") or "distinct" in curve.name)
        assert chart.axes.top <= chart.truth <= chart.axes.base < HEIGHT
        kape = next(curve for curve in chart.curves if curve.name == "kape")
        assert len({y for _, y in points(kape.points)}) == 1


def test_each_estimator_has_a_style_of_its_own() -> None:
    styles = style_numbers(kape_report().studied[0].figures.whole.rivals)
    assert len(set(styles.values())) == len(styles)


def test_densities_are_inside_the_drawing() -> None:
    for chart in density_charts(kape_report()):
        assert [area.name for area in chart.areas] == ["similar", "different"]
        for x, y in (point for area in chart.areas for point in points(area.points)):
            assert chart.axes.left - 0.01 <= x <= WIDTH
            assert chart.axes.top <= y <= chart.axes.base
        assert all(chart.axes.left <= tick.at <= chart.axes.right for tick in chart.axes.across)


def test_the_long_table_has_ours_and_the_published_figures() -> None:
    rows = figures_table(kape_report()).to_pylist()
    theirs = [row for row in rows if row["origin"] == "KAPE"]
    assert len(theirs) == 18 + 2 * (6 * 12 + 1) + 180 + 18 * 16 + 3 * 40
    assert {row["metric"] for row in theirs if "neighbours" not in row["figure"]} == {"MRR"}
    ours = [row for row in rows if row["origin"] == "computed"]
    key = ("data", "method", "part", "figure", "estimator", "weighting", "k", "budget", "metric")
    for some in (ours, theirs):
        keys = [tuple(row[name] for name in key) for row in some]
        assert len(set(keys)) == len(keys), "each figure once"
    truth = {row["part"]: row["value"] for row in ours if row["figure"] == "truth"}
    assert set(truth) == {"all", "similar", "different"}


def test_the_report_survives_json_and_names_nothing_as_markup() -> None:
    report = kape_report(HOSTILE)
    assert KapeReport.model_validate_json(report.model_dump_json()) == report
    page, text = render_kape(report), kape_markdown(report)
    assert "<script" not in page
    assert "<img" not in page + text
    assert page.count("<svg") == len(re.findall("</svg>", page))


def test_one_query_leaves_out_halves_and_intervals() -> None:
    studied = studied_method("docs", "good", 0.8)
    figures = studied.figures
    alone = figures.model_copy(update={"parts": figures.parts[:1], "coverage": ()})
    report = build_kape_report([studied.model_copy(update={"figures": alone})], "now")
    assert len(terminal_tables(report)) == 3
    assert render_kape(report).count("there are too few test queries") == 5


@pytest.mark.browser
def test_the_page_renders_without_a_complaint(tmp_path: Path) -> None:
    document, complaints = open_page(render_kape(kape_report(HOSTILE)), tmp_path)
    assert complaints == []
    assert "<title>owned" not in document
    assert document.count('class="area similar"') == 4 + 1
