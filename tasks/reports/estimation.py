"""The report of estimated scores: as page, as Markdown and as tables for a terminal."""

from collections.abc import Iterator

from infra.records import Record
from tasks.estimation.records import Difference, MethodComparison, MethodEstimate
from tasks.reports.charts import STYLES, Mark, Row, intervals
from tasks.reports.document import Block, Chart, Document, Key, Paragraph, Section, Table
from tasks.reports.text import NONE, count
from tasks.statistics.intervals import Interval

_COMBINED, _ALONE, _KAPE = STYLES[1], STYLES[9], STYLES[0]


class EstimationReport(Record):
    """Estimates of one or more methods on the same queries.

    Attributes:
        title: Of the queries, such as the name of their file.
        training: Name of the training pairs.
        generated_at: When it was made.
        estimates: One for each method.
        comparison: None with one method.
        notes: What holds for all methods, such as the overlap of queries and training queries.
    """

    title: str
    training: str
    generated_at: str
    estimates: tuple[MethodEstimate, ...]
    comparison: MethodComparison | None = None
    notes: tuple[str, ...] = ()


def summary(report: EstimationReport) -> str:
    """Return over what and how the scores were estimated."""
    first = report.estimates[0]
    judged = count(len(first.judged.rows)) if first.judged else "none"
    return (
        f"{count(first.queries)} queries, {judged} of them judged; "
        f"{count(first.training)} training pairs of {report.training}; k = {first.k}; "
        f"{first.level:.0%} intervals"
    )


def notes(report: EstimationReport) -> list[str]:
    """Return what a reader must know, each once."""
    of_methods = (note for estimate in report.estimates for note in estimate.notes)
    return list(dict.fromkeys((*report.notes, *of_methods)))


def comparison_note(report: EstimationReport) -> str:
    """Return how to read the intervals of a comparison, "" where there are none."""
    found = report.comparison
    if found is None or not any(each.combined for each in found.differences):
        return ""
    return (
        "Apart: the last interval does not hold 0. Intervals of the differences hold together with "
        f"{report.estimates[0].level:.0%} (each alone with {found.level:.4g}, Bonferroni)."
    )


def estimate_table(report: EstimationReport) -> Table:
    """Return a row for each method and metric."""
    judged = any(estimate.judged for estimate in report.estimates)
    header = ("method", "metric", "KAPE, no labels")
    rows = []
    for estimate in report.estimates:
        for measure, score in estimate.scores.items():
            row = (estimate.method, measure, f"{score.kape:.3f}")
            intervals = (_interval(score.sample), _interval(score.combined))
            rows.append((*row, *intervals) if judged else row)
    more = ("judged alone", "judged and estimated") if judged else ()
    return Table((*header, *more), rows, text_columns=2)


def comparison_table(report: EstimationReport) -> Table:
    """Return a row for each two methods; no rows with one method."""
    header = ("first", "second", "by KAPE", "judged alone", "judged and estimated", "apart")
    differences = report.comparison.differences if report.comparison else ()
    rows = [
        (
            each.first,
            each.second,
            f"{each.kape:+.3f}",
            _interval(each.sample, sign="+"),
            _interval(each.combined, sign="+"),
            _apart(each),
        )
        for each in differences
    ]
    return Table(header, rows, text_columns=2)


def order_table(report: EstimationReport) -> Table:
    """Return the methods by falling estimate; no rows with one."""
    comparison = report.comparison
    if comparison is None:
        return Table(("", "method"), [])
    rows = [
        (str(place), method, f"{value:.3f}")
        for place, (method, value) in enumerate(comparison.order, 1)
    ]
    return Table(("", "method", comparison.measure), rows, text_columns=2)


def _interval(value: Interval | None, sign: str = "") -> str:
    """Return ``0.755 [0.685, 0.825]``, or a dash."""
    if value is None:
        return NONE
    return f"{value.mean:{sign}.3f} [{value.low:{sign}.3f}, {value.high:{sign}.3f}]"


def _apart(difference: Difference) -> str:
    """Return whether the judged queries tell two methods apart."""
    if difference.combined is None:
        return NONE
    return "yes" if difference.combined.low > 0 or difference.combined.high < 0 else "no"


def estimation_document(report: EstimationReport) -> Document:
    """Return the report as a document."""
    return Document(
        kind="Estimate",
        title=f"Estimated scores: {report.title}",
        lead=[
            Paragraph(f"{summary(report)} · {report.generated_at}"),
            *map(Paragraph, notes(report)),
        ],
        sections=[
            Section("scores", "Scores", list(_scores(report))),
            *_compared(report),
        ],
    )


def _scores(report: EstimationReport) -> Iterator[Block]:
    first = report.estimates[0]
    yield estimate_table(report)
    yield (
        f"KAPE takes the score of each query from the {first.k} training queries nearest to it, "
        "and has no interval. Intervals are of the mean over all queries, from those that were "
        "judged. Judged and estimated: KAPE's estimate of each query, and the model's "
        "confidence in its best code where the codes are known, serve as control variates, which "
        "keeps the mean free of bias but for a share of about 1/n, and the interval at most as "
        "wide."
    )
    if len(report.estimates) == 1 and first.judged is None:
        return
    for measure in list(first.scores)[:2]:
        rows = [Row(each.method, list(_marks(each, measure))) for each in report.estimates]
        alt = f"{measure} of each method, as in the table above"
        yield Chart(measure, intervals(alt, rows, start=None))
    yield Key(
        {
            "KAPE, no labels": f"ring {_KAPE}",
            "judged and estimated": f"span {_COMBINED}",
            "judged alone": f"span {_ALONE}",
        }
    )


def _marks(estimate: MethodEstimate, measure: str) -> Iterator[Mark]:
    score = estimate.scores[measure]
    spans = (
        ("judged and estimated", score.combined, _COMBINED),
        ("judged alone", score.sample, _ALONE),
    )
    for what, found, style in spans:
        if found:
            told = f"{what}: {found.mean:.3f}, {found.low:.3f} to {found.high:.3f}"
            yield Mark(found.mean, told, found.low, found.high, style)
    yield Mark(score.kape, f"without labels: {score.kape:.3f}", style=_KAPE)


def _compared(report: EstimationReport) -> Iterator[Section]:
    if report.comparison is None:
        return
    how = f"{report.comparison.measure} of the first less that of the second."
    told = Paragraph(f"{how} {comparison_note(report)}".strip(), "remark")
    yield Section(
        "compared", "Methods compared", [order_table(report), comparison_table(report), told]
    )
