"""Laws of the KAPE report: its tables, its drawings, its page."""

import re

from tasks.estimation.study_figures import BUDGETS
from tasks.estimators import MEASURES
from tasks.reports import kape as tables
from tasks.reports.kape import (
    KapeReport,
    build_kape_report,
    kape_document,
)
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import NONE
from tests.fakes.kape_study import kape_report, studied_method

HOSTILE = "</style><script>document.title='owned'</script>|<img src=x onerror=a>"


def test_every_table_has_as_many_cells_as_columns_and_a_row_for_each_method() -> None:
    report = kape_report()
    for make in (
        tables.summary_table, tables.data_table, tables.table5, tables.half_table,
        tables.selection_table, tables.table6, tables.used_table, tables.table3,
    ):  # fmt: skip
        table = make(report)
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.header)}, table.caption
    assert len(tables.table5(report).rows) == 4
    assert len(tables.summary_table(report).rows) == 4 * 4  # KAPE twice, two others


def test_errors_are_those_of_the_figures() -> None:
    report = kape_report()
    first = report.studied[0].figures
    row = tables.summary_table(report).rows[1]
    error = abs(first.whole.kape_estimate(5, "MRR") - first.whole.truth["MRR"])
    assert row[:2] == ("docs, good", "kape, k = 5")
    assert row[4] == f"{error:.4f}"


def test_sizes_and_mrr_of_validation_stand_beside_those_of_the_test_pairs() -> None:
    report = kape_report("docs")
    assert tables.data_table(report).rows[0][:4] == ("docs", "300", "40", "81")
    figures = report.studied[0].figures
    row = tables.truth_table(report).rows[0]
    assert row[1:3] == (
        f"{figures.validation_truth['MRR']:.4f}", f"{figures.whole.truth['MRR']:.4f}",
    )  # fmt: skip
    page = html_page(kape_document(report))
    assert all(size in page for size in ("48,791", "2,209", "2,279")), "the published ones, Ruby"
    assert "not computed, because" not in page
    alone = report.studied[0].model_copy(
        update={"figures": figures.model_copy(update={"validation": 0, "validation_truth": {}})}
    )
    without = build_kape_report([alone], "now")
    assert tables.data_table(without).rows[0][2] == "0"
    assert tables.truth_table(without).rows[0][1] == NONE
    assert "not computed, because docs has no pairs in a part" in markdown_page(
        kape_document(without)
    )


def test_an_estimator_without_labels_stands_in_a_column_of_its_own() -> None:
    studied = kape_report().studied[0]
    table = tables.table4(studied)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["kape, k = 5"][0] != NONE
    assert set(rows["kape, k = 5"][1:]) == {NONE}
    assert rows["random-training"][0] != NONE
    assert rows["deepgini"][0] == NONE
    assert NONE not in rows["random-test, deviation"][1:]
    assert "deepgini, deviation" not in rows


def test_table_3_says_what_is_chosen_how_many_at_what_labour_and_whether_it_is_stable() -> None:
    rows = {row[0]: row[1:] for row in tables.table3(kape_report()).rows}
    assert rows["kape"] == ("training pairs", "test queries", "no", "yes")
    assert rows["random-test"] == ("test queries", "the budget", "yes", "no")
    assert rows["random-training"] == ("training pairs", "test queries", "no", "no")


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


def test_each_estimator_is_drawn_at_every_budget_in_a_style_of_its_own() -> None:
    studied = kape_report().studied[0]
    rivals = studied.figures.whole.rivals
    svg = tables._estimate_chart(studied).svg
    styles = re.findall(r'class="(s\d+|truth)"><title>', svg)
    assert len(styles) == len(set(styles)) == len(rivals) + 3
    assert "<title>kape, k = 1: " in svg
    assert svg.count("<polyline") == len(styles)
    assert svg.count("<polygon") == sum(not each.is_stable for each in rivals)
    assert {len(line.split()) for line in re.findall(r'points="([^"]+)"></polyline', svg)} == {
        len(BUDGETS)
    }


def test_the_report_survives_json_and_names_nothing_as_markup() -> None:
    report = kape_report(HOSTILE)
    assert KapeReport.model_validate_json(report.model_dump_json()) == report
    document = kape_document(report)
    page, text = html_page(document), markdown_page(document)
    assert "<script" not in page
    assert "<img" not in page + text
    assert page.count("<svg") == len(re.findall("</svg>", page))


def test_one_query_leaves_out_halves() -> None:
    studied = studied_method("docs", "good", 0.8)
    figures = studied.figures
    alone = figures.model_copy(update={"parts": figures.parts[:1]})
    report = build_kape_report([studied.model_copy(update={"figures": alone})], "now")
    assert not tables.half_table(report).rows
    assert "there are too few test queries" in html_page(kape_document(report))
