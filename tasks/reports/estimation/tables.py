"""Estimates as rows, for a terminal, for Markdown and for the page."""

from collections.abc import Sequence

from tasks.estimation.records import Difference, MethodEstimate
from tasks.reports import text
from tasks.reports.estimation.build import EstimationReport
from tasks.statistics.intervals import Interval

Table = tuple[Sequence[str], Sequence[Sequence[str]]]

_WITHHELD = "withheld"


def estimate_rows(report: EstimationReport) -> Table:
    """Return header and rows: a row for each method and metric."""
    judged = any(estimate.judged for estimate in report.estimates)
    header = ("method", "metric", "KAPE, no labels", "distinct codes")
    rows = []
    for estimate in report.estimates:
        for measure, score in estimate.scores.items():
            unlabelled = (_number(score.kape), _number(score.distinct))
            row = (estimate.method, measure, *unlabelled)
            intervals = (interval(score.sample), interval(score.combined))
            rows.append((*row, *intervals) if judged else row)
    return (*header, "judged alone", "judged and estimated") if judged else header, rows


def neighbour_rows(estimate: MethodEstimate) -> Table:
    """Return header and rows: MRR by KAPE and neighbours used, for each k."""
    header = ("k", "MRR", "neighbours used, mean", "fewest")
    by_k = estimate.by_k or (None,) * len(estimate.used)
    return header, [
        (str(used.k), _number(value), f"{used.mean:.2f}", str(used.minimum))
        for value, used in zip(by_k, estimate.used, strict=True)
    ]


def plan_rows(report: EstimationReport) -> Table:
    """Return header and rows: a row for each method and half-width, in labels and money."""
    labels = ("judged alone", "judged and estimated", "more", "cost")
    header = ("method", "metric", "half-width", *labels)
    return header, [
        (
            estimate.method,
            estimate.plan.measure,
            f"± {row.half_width:g}",
            text.count(row.alone),
            text.count(row.combined),
            text.count(row.more_combined),
            text.cost(report.price.of(row.more_combined)),
        )
        for estimate in report.estimates
        if estimate.plan
        for row in sorted(estimate.plan.rows, key=lambda row: -row.half_width)
    ]


def comparison_rows(report: EstimationReport) -> Table:
    """Return header and rows: a row for each two methods; no rows with one method."""
    header = ("first", "second", "by KAPE", "judged alone", "judged and estimated", "apart")
    differences = report.comparison.differences if report.comparison else ()
    return header, [
        (
            each.first,
            each.second,
            _number(each.kape, sign="+"),
            interval(each.sample, sign="+"),
            interval(each.combined, sign="+"),
            _apart(each),
        )
        for each in differences
    ]


def order_rows(report: EstimationReport) -> Table:
    """Return header and rows: the methods by falling estimate, with the truth where known."""
    comparison = report.comparison
    if comparison is None:
        return ("", "method"), []
    header = ("", "method", comparison.measure)
    rows = [
        (str(place), method, _number(value))
        for place, (method, value) in enumerate(comparison.order, 1)
    ]
    if not comparison.truth:
        return header, rows
    known = comparison.truth
    return (*header, "truth"), [
        (*row, f"{known[row[1]]:.3f}" if row[1] in known else text.UNKNOWN) for row in rows
    ]


def interval(value: Interval | None, sign: str = "") -> str:
    """Return ``0.755 [0.685, 0.825]``, or a dash."""
    if value is None:
        return text.NONE
    return f"{value.mean:{sign}.3f} [{value.low:{sign}.3f}, {value.high:{sign}.3f}]"


def _number(value: float | None, sign: str = "") -> str:
    return _WITHHELD if value is None else f"{value:{sign}.3f}"


def _apart(difference: Difference) -> str:
    """Return whether the judged queries tell two methods apart."""
    if difference.combined is None:
        return text.NONE
    return "yes" if difference.combined.low > 0 or difference.combined.high < 0 else "no"
