"""Laws of the report of an estimate: what it says; names are escaped."""

from tasks.reports.estimation import (
    EstimationReport,
    estimate_table,
    estimation_document,
)
from tasks.reports.render import html_page, markdown_page
from tests.fakes.estimations import estimation_report

HOSTILE = "</title><script>document.title='owned'</script>|`x`"


def page_of(report: EstimationReport) -> str:
    return html_page(estimation_document(report))


def text_of(report: EstimationReport) -> str:
    return markdown_page(estimation_document(report))


def test_methods_are_ordered_by_the_first_metric() -> None:
    report = estimation_report("good", "bad")
    table = estimate_table(
        report.model_copy(update={"estimates": tuple(reversed(report.estimates))})
    )
    assert table.header == ("method", "MRR", "Answered@5", "NDCG@10", "Recall@10")
    assert [row[0] for row in table.rows] == ["good", "bad"]
    assert table.rows[0][1] == f"{report.estimates[0].scores['MRR']:.3f}"


def test_what_must_be_known_is_said_once() -> None:
    assert page_of(estimation_report("one", "two")).count("5 queries overlap.") == 1


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
