"""Laws of the report of an estimate: what it says."""

from tasks.reports.estimation import EstimationReport, estimate_table, estimation_document
from tasks.reports.render import html_page
from tests.fakes.estimations import estimation_report


def test_methods_are_ordered_by_the_first_metric() -> None:
    report = estimation_report("good", "bad")
    table = estimate_table(
        report.model_copy(update={"estimates": tuple(reversed(report.estimates))})
    )
    assert table.header == ("method", "MRR", "Answered@5", "NDCG@10", "Recall@10")
    assert [row[0] for row in table.rows] == ["good", "bad"]
    assert table.rows[0][1] == f"{report.estimates[0].scores['MRR']:.3f}"


def test_what_must_be_known_is_said_once() -> None:
    assert (
        html_page(estimation_document(estimation_report("one", "two"))).count("5 queries overlap.")
        == 1
    )


def test_a_report_survives_json() -> None:
    report = estimation_report("one", "two")
    assert EstimationReport.model_validate_json(report.model_dump_json()) == report
