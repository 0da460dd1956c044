"""Laws of the report of a run: what it shows, and that what is unknown is no zero."""

import re

import pytest
from markdown_it import MarkdownIt

from infra.summaries import ReadingFigures
from tasks.reports.leaderboard import language_rows
from tasks.reports.render import html_page, markdown_page
from tasks.reports.run import ReportData, contradictions, report_document, tables_by_language
from tasks.reports.text import NONE
from tests.fakes.reports import METRICS, MODEL, realistic_report

_MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


def with_figures(**figures: object) -> ReportData:
    report = realistic_report()
    assert report.agents is not None
    changed = report.agents.figures.model_copy(update=figures)
    agents = report.agents.model_copy(update={"figures": changed})
    return report.model_copy(update={"agents": agents})


def page_of(report: ReportData) -> str:
    return html_page(report_document(report))


def text_of(report: ReportData) -> str:
    return markdown_page(report_document(report))


def test_a_benchmark_in_several_languages_has_a_row_for_each_and_their_mean() -> None:
    report = realistic_report()
    first = report.benchmarks[0]
    means = {metric: dict.fromkeys(first.methods, 0.25) for metric in ("MAP", "MRR", "NDCG@10")}
    rows = language_rows({"go": (3, means), "ruby": (4, means)})
    changed = first.model_copy(update={"languages": rows})
    tables = tables_by_language(changed)
    assert [table.caption for table in tables] == ["MRR by language", "NDCG@10 by language"]
    assert [row[:3] for row in tables[0].rows] == [
        ("go", "3", "0.250"),
        ("ruby", "4", "0.250"),
        ("mean", "7", "0.250"),
    ]
    assert "MRR by language" in text_of(report.model_copy(update={"benchmarks": (changed,)}))
    assert tables_by_language(first) == []


def _rows(page: str, words: str) -> list[str]:
    return [row for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if words in row]


def test_the_honest_benchmark_leads_wherever_it_was_given() -> None:
    report = realistic_report()
    for benchmarks in (report.benchmarks, report.benchmarks[::-1]):
        page = page_of(report.model_copy(update={"benchmarks": benchmarks}))
        headings = re.findall(r"<h3>([\w-]+)", page)
        assert headings[:2] == ["python-source-documentation", "python-source-agents"]


def test_the_best_of_each_metric_stands_out_ties_included() -> None:
    report = realistic_report()
    honest = report.ranked_benchmarks[0]
    tied = honest.methods | {"twin": honest.methods["minilm"]}
    honest = honest.model_copy(update={"methods": tied})
    page = page_of(report.model_copy(update={"benchmarks": (honest,)}))
    names = ("bag-of-words", "bm25", "minilm", "twin")
    best = {name: _rows(page, f"<td>{name}")[0].count('class="best"') for name in names}
    assert best == {"bag-of-words": 0, "bm25": 0, "minilm": 4, "twin": 4}


def test_a_metric_that_a_method_lacks_is_no_zero() -> None:
    report = realistic_report()
    agents = report.ranked_benchmarks[1]
    page = page_of(report.model_copy(update={"benchmarks": (agents,)}))
    row = _rows(page, "<td>minilm")[0]
    assert row.count('class="num">' + NONE) == 2
    assert "0.0000" not in row


def test_an_unknown_cost_is_unknown_and_never_zero() -> None:
    page, text = page_of(realistic_report()), text_of(realistic_report())
    assert "Costunknown" in re.sub(r"<[^>]*>|\s", "", page)
    assert "| Cost | unknown |" in text
    assert "$0" not in page + text


def test_a_known_cost_is_shown() -> None:
    report = realistic_report()
    assert report.agents is not None
    cost = report.agents.figures.cost.model_copy(update={"cost_usd": 257.0})
    assert "$257.00" in page_of(with_figures(cost=cost))


def test_a_report_of_nothing_says_so() -> None:
    nothing = ReportData(title="Nothing", generated_at="today", benchmarks=())
    page, text = page_of(nothing), text_of(nothing)
    assert text.startswith("# Nothing\n\ntoday\n")
    for words in ("No benchmark was scored.", "No pair has been annotated.", "No model was asked."):
        assert words in page


def test_the_same_data_give_the_same_page() -> None:
    assert page_of(realistic_report()) == page_of(realistic_report())


def test_scores_stand_in_a_table_with_honest_ones_first() -> None:
    html = _MARKDOWN.render(text_of(realistic_report()))
    assert html.index("python-source-documentation") < html.index("python-source-agents")
    assert all(f">{metric}</th>" in html for metric in METRICS)
    assert ">0.6030</td>" in html


def test_the_model_is_named_in_markdown() -> None:
    assert f"Model {MODEL}" in text_of(realistic_report())


def test_the_markdown_is_short_for_it_has_no_evidence() -> None:
    assert len(text_of(realistic_report())) < 5_000


def test_replies_that_could_not_be_read_are_counted_by_role_and_model() -> None:
    text = text_of(realistic_report())
    assert re.search(rf"\| screener +\| {re.escape(MODEL)} +\| 200 +\| 13.5%", text), text
    assert re.search(r"\| value reader +\|.*\| 31 +\| 0.0%", text)


@pytest.mark.parametrize(
    ("tested", "contradicted", "is_told"),
    [(0, 0, False), (9, 9, False), (10, 2, False), (12, 3, True), (14, 5, True)],
)
def test_a_judge_whom_runs_contradict_often_is_told(
    tested: int, contradicted: int, *, is_told: bool
) -> None:
    said = contradictions(ReadingFigures(roles=(), tested=tested, contradicted=contradicted))
    assert ("a reader that guesses has half" in said) == is_told
    assert not tested or f"{contradicted} of {tested} (" in said
