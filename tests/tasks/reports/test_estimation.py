"""Laws of the report of an estimate: what it says; names are escaped."""

from tasks.reports.document import plain
from tasks.reports.estimation import (
    EstimationReport,
    comparison_table,
    estimate_table,
    estimation_document,
)
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import NONE
from tests.fakes.estimations import estimated, estimation_report

HOSTILE = "</title><script>document.title='owned'</script>|`x`"


def page_of(report: EstimationReport) -> str:
    return html_page(estimation_document(report))


def text_of(report: EstimationReport) -> str:
    return markdown_page(estimation_document(report))


def test_a_row_for_each_method_and_measure_with_intervals_where_queries_were_judged() -> None:
    table = estimate_table(estimation_report("one", "two"))
    rows = table.rows
    assert table.header == (
        "method",
        "metric",
        "KAPE, no labels",
        "judged alone",
        "judged and estimated",
    )
    assert [row[:2] for row in rows] == [
        (name, measure)
        for name in ("one", "two")
        for measure in ("MRR", "Answered@5", "NDCG@10", "Recall@10")
    ]
    score = estimated().scores["MRR"]
    assert score.sample is not None
    assert rows[0][2] == f"{score.kape:.3f}"
    assert rows[0][3] == (
        f"{score.sample.mean:.3f} [{score.sample.low:.3f}, {score.sample.high:.3f}]"
    )
    assert [len(row) for row in estimate_table(estimation_report("one", labels=0)).rows] == [3] * 4


def test_a_comparison_says_what_the_judged_queries_tell_apart() -> None:
    report = estimation_report("one", "two")
    ((first, second, kape, *intervals, apart),) = comparison_table(report).rows
    assert (first, second) == ("one", "two")
    assert plain(kape).startswith("+")
    assert all(each != NONE for each in intervals)
    assert apart in ("yes", "no")
    assert comparison_table(estimation_report("one")).rows == []
    assert comparison_table(estimation_report("one", "two", labels=0)).rows[0][3:] == (NONE,) * 3


def test_what_must_be_known_is_said_once() -> None:
    page = page_of(estimation_report("one", "two", labels=12))
    assert page.count("5 queries overlap.") == 1
    assert page.count("12 queries are judged: below 30") == 1


def test_hostile_names_stay_text() -> None:
    report = estimation_report(HOSTILE, "two", note=HOSTILE)
    page = page_of(report)
    assert "<script" not in page
    assert page.count("</title>") == page.count("<title>")
    text = text_of(report)
    assert "<script" not in text
    assert "\n|" not in text.replace("\n| ", "")


def test_characters_that_fake_or_hide_text_are_shown() -> None:
    report = estimation_report("one", note="a\x1b[31m\u202egnp")
    for text in (page_of(report), text_of(report)):
        assert "a⟨U+001B⟩" in text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_report_survives_json() -> None:
    report = estimation_report("one", "two")
    assert EstimationReport.model_validate_json(report.model_dump_json()) == report
