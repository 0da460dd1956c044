"""Laws of the study's report: which figures stand side by side, and how they are written."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.reports.document import Figure, Table
from tasks.reports.figures import Dots
from tasks.reports.render import html_page, markdown_page
from tasks.reports.study import (
    Line,
    StudyReport,
    build_report,
    conditions_table,
    number,
    study_document,
)
from tasks.reports.text import NONE
from tasks.studies import CollectionFacts, Evidence, Missing, paper_data, studies
from tests.fakes.studies import CONDITIONS, full_evidence

NOTHING = CollectionFacts(queries=0, codes=0, dropped={})


@pytest.fixture
def report(tmp_path: Path) -> StudyReport:
    return build_report(full_evidence(tmp_path), "a <title>", "now")


def lines(report: StudyReport, study: str) -> dict[tuple[str, str, str], Line]:
    (section,) = (section for section in report.sections if section.study == study)
    return {(line.row, line.column, line.source): line for line in section.lines}


def test_every_published_figure_stands_on_the_page_once(report: StudyReport) -> None:
    shown = [
        (line.published_row or line.row, line.column, line.source, line.published)
        for section in report.sections
        for line in section.lines
        if line.published is not None
    ]
    typed = [(each.row, each.column, each.source, each.value) for each in paper_data().figures]
    assert sorted(shown) == sorted(typed)
    page = html_page(study_document(report))
    assert all(f"{section.title}".replace("'", "&#39;") in page for section in report.sections)


def test_our_figure_stands_beside_that_of_the_papers_name_with_the_difference(
    report: StudyReport,
) -> None:
    found = lines(report, "retrieval")
    beside = found["unixcoder", "NDCG@10", "v2, Table V"]
    assert (beside.ours, beside.published, beside.n) == (0.187, 0.187, 30)
    assert beside.difference == 0
    other = found["bm25", "MRR", "v1, Table 5"]
    assert other.difference == pytest.approx(0.28 - 0.167)
    assert other.note == "its own words, not Lucene's standard analyser"
    assert found["somebody's", "MRR", ""].published is None
    alone = found["CodeBERT", "NDCG@10", "v2, Table V"]
    assert (alone.ours, alone.published) == (None, 0.232)


@pytest.mark.data
@pytest.mark.skipif(
    "CODESEARCHNET_DATA" not in os.environ,
    reason="CODESEARCHNET_DATA names no folder with the challenge's annotationStore.csv",
)
def test_the_published_grades_stand_on_the_page_beside_the_papers() -> None:
    file = Path(os.environ["CODESEARCHNET_DATA"]) / "annotationStore.csv"
    report = build_report(Evidence({}, NOTHING, annotation_store=file), "t", "now")
    page = markdown_page(study_document(report))
    own = {"Go": 11, "Java": 137, "JavaScript": 58, "PHP": 66, "Python": 399, "Ruby": 34}
    asked = {"Go": 10, "Java": 67, "JavaScript": 45, "PHP": 44, "Python": 95, "Ruby": 26}
    found = {key[:2]: line for key, line in lines(report, "codesearchnet-annotations").items()}
    assert {name: found[name, "right pairs"].ours for name in own} == own
    assert {name: found[name, "queries with one"].ours for name in own} == asked
    assert (found["all", "all"].ours, found["all", "graded twice or more"].ours) == (4_006, 880)
    assert found["all", "with a note"].ours == 172
    for words in ("right pairs | 399 | 399", "with one | 95 | 95", "weights | 0.467 | 0.470"):
        assert words in page


def test_a_figure_that_two_papers_print_has_a_line_for_each(report: StudyReport) -> None:
    found = lines(report, "size")
    assert found["pairs", "benchmark", "v2, Table II"].difference == 800 - 412_080
    assert found["pairs", "benchmark", "v1, Table 1"].difference == 800 - 108_896


def test_a_study_without_evidence_says_why_and_shows_what_is_published(tmp_path: Path) -> None:
    reason = Missing(reason="no labels: annotate first")
    evidence = replace(full_evidence(tmp_path), benchmark=reason)
    report = build_report(evidence, "t", "now")
    (section,) = (each for each in report.sections if each.study == "size")
    assert section.problem == "no labels: annotate first"
    assert [line.ours for line in section.lines] == [None] * 8
    page = html_page(study_document(report))
    assert f"{section.title}: no labels: annotate first ({section.command})" in page
    assert f"<h2>{section.title}" not in page
    assert "412,080" not in page, "published alone"
    nothing = build_report(Evidence({}, NOTHING), "t", "now")
    assert {each.study for each in nothing.sections if each.study and not each.problem} == {
        "corpus"
    }


def test_a_file_that_is_malformed_spoils_its_own_table_only(tmp_path: Path) -> None:
    evidence = full_evidence(tmp_path)
    (tmp_path / "score_sheet.csv").write_text("No.,StackOverflow ID,NCS FRank\n1,11,0\n")
    report = build_report(evidence, "t", "now")
    broken = {section.study: section.problem for section in report.sections if section.study}
    assert "score_sheet.csv:2" in broken.pop("neural-code-search")
    assert set(broken.values()) == {""}


@pytest.mark.parametrize(
    ("ours", "published", "texts"),
    [
        (6, 412_080, ("6", "412,080", "-412,074")),
        (0.5, 0.285, ("0.500", "0.285", "+0.215")),
        (0.0005, 0.00062, ("0.00050", "0.00062", "-0.00012")),
        (0.128, 10.0, ("0.128", "10.000", "-9.872")),
        (None, 0.1, (NONE, "0.100", NONE)),
    ],
)
def test_counts_are_whole_and_other_figures_have_three_digits_or_five(
    ours: float | None, published: float, texts: tuple[str, str, str]
) -> None:
    line = Line(row="r", column="c", ours=ours, published=published)
    written = (number(line, ours), number(line, published))
    assert (*written, number(line, line.difference, sign=True)) == texts


def test_the_report_survives_its_json(report: StudyReport) -> None:
    assert StudyReport.model_validate_json(report.model_dump_json()) == report


def test_text_that_is_not_ours_is_escaped(tmp_path: Path) -> None:
    hostile = CONDITIONS | {"model": "<script>alert(1)</script>"}
    evidence = replace(full_evidence(tmp_path), conditions=hostile)
    report = build_report(evidence, "a <title>", "now")
    page = html_page(study_document(report))
    assert "<script>" not in page
    assert "a &lt;title&gt;" in page
    markdown = markdown_page(study_document(report))
    assert "<script>" not in markdown


def test_figures_that_papers_print_too_stand_together_above_all(tmp_path: Path) -> None:
    full = study_document(build_report(full_evidence(tmp_path), "t", "now")).sections[0]
    [table] = full.blocks
    assert isinstance(table, Table)
    rows = [row for row in table.rows if row[0] == "pairs, benchmark"]
    assert rows == [
        ("pairs, benchmark", "800", "412,080", "-411,280", NONE, "v2, Table II"),
        ("pairs, benchmark", "800", "108,896", NONE, NONE, "v1, Table 1"),
    ]
    assert all(NONE not in row[1:3] for row in table.rows)
    none = markdown_page(study_document(build_report(Evidence({}, NOTHING), "t", "now")))
    assert "| queries, items | 0 | 20,604 |" in none


def test_differences_are_taken_from_papers_of_the_same_corpus_alone(tmp_path: Path) -> None:
    page = markdown_page(study_document(build_report(full_evidence(tmp_path), "t", "now")))
    assert f"| pairs | 800 | 412,080 | \\-411,280 | {NONE} | v2, Table II |" in page
    assert f"| pairs | 800 | 108,896 | {NONE} | {NONE} | v1, Table 1 |" in page
    assert "No difference is taken from v1: the corpus is another." in page
    ours = replace(full_evidence(tmp_path), conditions=CONDITIONS | {"source": "jsonl"})
    page = markdown_page(study_document(build_report(ours, "t", "now")))
    assert f"| pairs | 800 | 412,080 | {NONE} | v2, Table II |" in page, "nor a column of them"
    assert "taken from v2, v1: the corpus is another" in page


def test_studies_have_drawings_with_the_papers_values_beside_ours(report: StudyReport) -> None:
    document = study_document(report)
    drawn = {
        section.title: block
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Figure)
    }
    assert "rank 1" not in drawn["Share of matches by candidate rank"].alt
    assert drawn["Share of matches by candidate rank"].alt.startswith("share by rank: 1: ")
    assert drawn["Matches of a query"].alt.startswith("queries by matches: 0: ")
    assert drawn["Queries of a code"].alt.startswith("codes by queries: 1: ")
    cost = drawn["Seconds and dollars of clear and unclear pairs"].image
    assert isinstance(cost, Dots)
    assert ("clear: v2, section on cost", 10.0) in [(dot.name, dot.value) for dot in cost.dots]
    rounds = drawn["Agreement between rounds of labelling"].image
    assert isinstance(rounds, Dots)
    assert rounds.ends == (-1.0, 1.0)


def test_studies_come_in_the_papers_order_and_the_conditions_with_theirs(
    report: StudyReport,
) -> None:
    names = [section.study for section in report.sections if section.study]
    assert names[:3] == ["corpus", "overlap", "matches-by-rank"]
    assert sorted(names) == sorted(studies)
    table = conditions_table(report)
    assert table.header == ("condition", "this run", "v2", "v1")
    assert ("top k", "20", "20", "5") in table.rows
