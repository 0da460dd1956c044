"""The report as Markdown."""

from collections.abc import Iterator

from infra.markdown import markdown_table, markdown_text
from tasks.reports import text
from tasks.reports.estimation import sentences
from tasks.reports.estimation.build import EstimationReport
from tasks.reports.estimation.tables import (
    comparison_rows,
    estimate_rows,
    neighbour_rows,
    order_rows,
    plan_rows,
)

_LONGEST = 1_000


def estimation_markdown(report: EstimationReport) -> str:
    """Return the report as Markdown. Text of names is escaped."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: EstimationReport) -> Iterator[str]:
    yield f"# Estimated scores: {_line(report.title)}"
    yield _line(sentences.summary(report))
    for estimate in report.estimates:
        if refusal := sentences.refusal(estimate):
            yield f"**Too far.** {_line(refusal)}"
    yield from map(_line, sentences.notes(report))
    yield markdown_table(*estimate_rows(report), text_columns=2)
    if report.comparison:
        yield "## Methods compared"
        yield markdown_table(*order_rows(report), text_columns=2)
        yield markdown_table(*comparison_rows(report), text_columns=2)
        yield from map(_line, sentences.comparison_sentences(report))
    yield "## What to label"
    for estimate in report.estimates:
        plan = sentences.plan_sentence(estimate, report.price)
        yield _line(f"{estimate.method}: {plan} {sentences.plan_basis(estimate)}")
    yield markdown_table(*plan_rows(report), text_columns=2)
    yield "## What the estimates rest on"
    for estimate in report.estimates:
        yield _line(f"{estimate.method}: {sentences.distance_sentence(estimate)}")
        yield markdown_table(*neighbour_rows(estimate), text_columns=0)


def _line(value: str) -> str:
    return markdown_text(text.visible(value, _LONGEST))
