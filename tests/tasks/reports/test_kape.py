"""Laws of the KAPE report: its tables, its page."""

from tasks.reports import kape as tables
from tasks.reports.kape import KapeReport, kape_document
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import NONE
from tests.fakes.estimations import kape_report


def test_every_table_has_as_many_cells_as_columns_and_a_row_for_each_method() -> None:
    report = kape_report()
    for make in (
        tables.summary_table, tables.truth_table, tables.budgets_table, tables.neighbours_table,
    ):  # fmt: skip
        table = make(report)
        assert {len(row) for row in table.rows} == {len(table.header)}, table.caption
    assert len(tables.truth_table(report).rows) == 4
    assert len(tables.summary_table(report).rows) == 4 * 5  # KAPE twice, one other, two halves
    assert len(tables.neighbours_table(report).rows) == 4 * 5  # weightings, and neighbours used


def test_ten_queries_stand_beside_their_nearest_with_texts_ranks_and_cosine() -> None:
    report = kape_report()
    table = tables.nearest_table(report)
    assert len(table.rows) == 4 * 9
    pair = report.studied[0].figures.nearest[2]
    row = table.rows[2]
    assert row[:2] == ("docs, good", f"test query {pair.row}")
    assert str(row[2]).startswith(f"training query {pair.nearest_row} of words")
    assert str(row[2]).endswith(" …")
    assert row[3:] == (
        f"{1 / pair.rank:.4f}", f"{1 / pair.nearest_rank:.4f}", f"{pair.similarity:.4f}",
    )  # fmt: skip


def test_the_better_method_comes_first_by_kape_and_by_the_truth() -> None:
    rows = tables.order_table(kape_report()).rows
    assert rows == [
        (name, "good > bad", "good > bad", "yes", "1.0000") for name in ("docs", "cosqa")
    ]


def test_rivals_stand_on_both_halves_with_their_own_truth() -> None:
    report = kape_report()
    halves = tables.halves_tables(report)
    assert len(halves) == 4 * 2
    first = report.studied[0].figures.parts[1]
    assert halves[0].rows[0][:2] == ("similar: truth", f"{first.truth['MRR']:.4f}")
    rival = next(each for each in first.rivals if each.estimator == "deepgini")
    found = next(row for row in halves[0].rows if row[0] == "similar: deepgini")
    assert found[2:] == tuple(f"{value:.4f}" for value in rival.means["MRR"])


def test_shares_by_neighbours_used_add_up_to_one() -> None:
    for row in tables.used_table(kape_report()).rows:
        assert abs(sum(float(str(cell)) for cell in row[1:]) - 1) < 0.01


def test_the_papers_tables_stand_on_the_page() -> None:
    page = html_page(kape_document(kape_report()))
    figures = (
        "0.8223",
        "0.9919",
        "16.4",
        "17.8",
        "48,791",
        "2,209",
        "0.0219",
        "6 / 8.92",
        "0.6788",
    )
    assert [figure for figure in figures if figure not in page] == []


def test_errors_are_those_of_the_figures() -> None:
    report = kape_report()
    first = report.studied[0].figures
    row = tables.summary_table(report).rows[1]
    error = abs(first.whole.kape_estimate(5, "MRR") - first.whole.truth["MRR"])
    assert row[:2] == ("docs, good", "kape, k = 5")
    assert row[4] == f"{error:.4f}"
    half = first.parts[1]
    rows = {row[1]: row for row in reversed(tables.summary_table(report).rows)}
    assert rows[f"kape, k = 5: {half.part}"][2] == f"{half.truth['MRR']:.4f}"


def test_sizes_and_mrr_of_validation_stand_beside_those_of_the_test_pairs() -> None:
    report = kape_report("docs")
    figures = report.studied[0].figures
    row = tables.truth_table(report).rows[0]
    assert row[:4] == ("docs, good", "300", "40", "81")
    assert row[7:9] == (
        f"{figures.validation_truth['MRR']:.4f}", f"{figures.whole.truth['MRR']:.4f}",
    )  # fmt: skip
    assert "not computed, because" not in html_page(kape_document(report))
    alone = report.studied[0].model_copy(
        update={"figures": figures.model_copy(update={"validation": 0, "validation_truth": {}})}
    )
    without = KapeReport(generated_at="now", studied=(alone,))
    assert tables.truth_table(without).rows[0][7] == NONE
    told = markdown_page(kape_document(without))
    assert "not computed, because docs has no pairs in a part" in told


def test_an_estimator_without_labels_stands_in_a_column_of_its_own() -> None:
    rows = {
        str(row[0]).partition(": ")[2]: row[1:]
        for row in tables.budgets_table(kape_report()).rows
        if str(row[0]).startswith("docs, good")
    }
    assert rows["kape, k = 5"][0] != NONE
    assert set(rows["kape, k = 5"][1:]) == {NONE}
    assert rows["random-training"][0] != NONE
    assert rows["deepgini"][0] == NONE
    assert NONE not in rows["random-test, deviation"][1:]
    assert "deepgini, deviation" not in rows


def test_the_report_survives_json() -> None:
    report = kape_report()
    assert KapeReport.model_validate_json(report.model_dump_json()) == report
