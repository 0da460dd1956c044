"""The report of estimated scores: as page, as Markdown and as tables for a terminal."""

from infra.records import Record
from tasks.reports.document import Document, Paragraph, Section, Table
from tasks.reports.text import format_count


class MethodEstimate(Record):
    """Estimated scores of one method.

    Attributes:
        method: Its name.
        k: Neighbours of each query.
        training: Number of training pairs.
        queries: Number of queries.
        scores: Measure → estimated mean over the queries, in the order asked for.
    """

    method: str
    k: int
    training: int
    queries: int
    scores: dict[str, float]


class EstimationReport(Record):
    """Estimates of one or more methods on the same queries.

    Attributes:
        title: Of the queries, such as the name of their file.
        training: Name of the training pairs.
        generated_at: When it was made.
        estimates: One for each method.
        notes: What a reader must know, each a sentence, such as the overlap of queries and
            training queries.
    """

    title: str
    training: str
    generated_at: str
    estimates: tuple[MethodEstimate, ...]
    notes: tuple[str, ...] = ()


def estimate_table(report: EstimationReport) -> Table:
    """Return a row for each method, the best by the first metric first."""
    metrics = tuple(report.estimates[0].scores)
    ranked = sorted(report.estimates, key=lambda each: (-each.scores[metrics[0]], each.method))
    rows = [(each.method, *(f"{each.scores[metric]:.3f}" for metric in metrics)) for each in ranked]
    return Table(("method", *metrics), rows, text_columns=1)


def estimation_document(report: EstimationReport) -> Document:
    """Return the report as a document."""
    first = report.estimates[0]
    about = (
        f"{format_count(first.queries)} queries without labels; "
        f"{format_count(first.training)} training pairs of {report.training}; k = {first.k}"
    )
    explained = (
        f"KAPE takes the score of each query from the {first.k} training queries nearest to it, "
        "and has no interval."
    )
    return Document(
        kind="Estimate",
        title=f"Estimated scores: {report.title}",
        lead=[
            Paragraph(f"{about} · {report.generated_at}"),
            *map(Paragraph, report.notes),
        ],
        sections=[Section("scores", "Scores", [estimate_table(report), explained])],
    )
