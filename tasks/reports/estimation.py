"""The report of estimated scores: as page, as Markdown and as tables for a terminal."""

from collections.abc import Iterator, Mapping, Sequence

from infra.records import Record
from tasks.estimation.records import Density, Difference, MethodComparison, MethodEstimate
from tasks.reports.charts import STYLES, Line, Mark, Row, intervals, lines, steps
from tasks.reports.document import Block, Chart, Document, Key, Paragraph, Section, Span, Table
from tasks.reports.text import NONE, UNKNOWN, cost, count
from tasks.statistics.intervals import Interval

_WITHHELD = "withheld"
_PILOTS = {
    "judged": "the {} queries judged so far",
    "training": "{} training queries, each estimated from the others",
}
_COMBINED, _ALONE, _KAPE = STYLES[1], STYLES[9], STYLES[0]


class LabelPrice(Record):
    """What it costs to label a query.

    Attributes:
        pairs_per_query: Codes that are judged for each query.
        dollars_per_pair: None where it is unknown.
    """

    pairs_per_query: int = 20
    dollars_per_pair: float | None = None

    def of(self, queries: int) -> float | None:
        """Return dollars for labelling so many queries."""
        if self.dollars_per_pair is None:
            return None
        return queries * self.pairs_per_query * self.dollars_per_pair


class EstimationReport(Record):
    """Estimates of one or more methods on the same queries.

    Attributes:
        title: Of the queries, such as the name of their file.
        training: Name of the training pairs.
        generated_at: When it was made.
        estimates: One for each method.
        comparison: None with one method.
        price: Of labelling.
        notes: What holds for all methods, such as the overlap of queries and training queries.
    """

    title: str
    training: str
    generated_at: str
    estimates: tuple[MethodEstimate, ...]
    comparison: MethodComparison | None = None
    price: LabelPrice = LabelPrice()
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


def refusal(estimate: MethodEstimate) -> str:
    """Return that the queries are too far, and why; nothing where they are not."""
    if not estimate.distance.refused:
        return ""
    withheld = all(score.kape is None for score in estimate.scores.values())
    what = "no estimate without labels" if withheld else "an estimate not to be relied on"
    return f"{estimate.method}: {what}, since {estimate.distance.reason}."


def notes(report: EstimationReport) -> list[str]:
    """Return what a reader must know, each once."""
    of_methods = (note for estimate in report.estimates for note in estimate.notes)
    return list(dict.fromkeys((*report.notes, *of_methods)))


def plan_sentence(estimate: MethodEstimate, price: LabelPrice) -> str:
    """Return "Label 60 more queries for ± 0.02 of MRR: about $1.20 at $0.001 a pair ...".

    Args:
        estimate: Of the method; the sentence is for its plan's first half-width.
        price: Of labelling.
    """
    plan = estimate.plan
    if plan is None or not plan.rows:
        return "How many labels are needed is not known."
    row = plan.rows[0]
    goal = f"± {row.half_width:g} of {plan.measure}"
    if not row.more_combined:
        return f"The labels at hand are enough for {goal}."
    dollars = price.of(row.more_combined)
    if dollars is None:
        paid = f"{count(row.more_combined * price.pairs_per_query)} pairs at an unknown price"
    else:
        paid = f"about {cost(dollars)} at {cost(price.dollars_per_pair)} a pair"
    queries = "query" if row.more_combined == 1 else "queries"
    saved = row.more_alone > row.more_combined
    without = f"; {count(row.more_alone)} by labels alone" if saved else ""
    return (
        f"Label {count(row.more_combined)} more {queries} for {goal}: {paid}, "
        f"{price.pairs_per_query} pairs a query{without}."
    )


def _plan_basis(estimate: MethodEstimate) -> str:
    """Return where the spread that the plan rests on is taken from."""
    plan = estimate.plan
    if plan is None:
        return "There is nothing to tell the spread of the scores from."
    return (
        f"By the spread of {_PILOTS[plan.pilot].format(count(plan.pilot_size))}: standard "
        f"deviation {plan.deviation:.3f}, of which the estimates leave {plan.residual:.3f}."
    )


def _distance_sentence(estimate: MethodEstimate) -> str:
    """Return how far the queries are from the training queries."""
    near, distance = estimate.similarities, estimate.distance
    median = f"Median similarity to the nearest training query: {_median(near.queries)}"
    if near.training is None or distance.nearest is None:
        return f"{median}."
    return (
        f"{median}; among training queries {_median(near.training)}. Energy coefficient of these "
        f"similarities {distance.nearest.coefficient:.3f} (p = {distance.nearest.p_value:.3f}; too "
        f"far above {distance.limit:g}), of the vectors {distance.vectors.coefficient:.3f}."
    )


def _median(density: Density) -> str:
    return f"{density.quantiles['0.5']:.2f}"


def comparison_sentences(report: EstimationReport) -> list[str]:
    """Return how to read the comparison, and how well its order agrees with the truth."""
    if report.comparison is None:
        return []
    sentences = []
    if any(each.combined for each in report.comparison.differences):
        sentences.append(
            f"Intervals of the differences hold together with {report.estimates[0].level:.0%} "
            f"(each alone with {report.comparison.level:.4g}, Bonferroni)."
        )
    if report.comparison.tau is not None:
        sentences.append(
            f"Kendall's tau of this order against the truth: {report.comparison.tau:.2f}."
        )
    return sentences


def estimate_table(report: EstimationReport) -> Table:
    """Return a row for each method and metric."""
    judged = any(estimate.judged for estimate in report.estimates)
    header = ("method", "metric", "KAPE, no labels", "distinct codes")
    rows = []
    for estimate in report.estimates:
        for measure, score in estimate.scores.items():
            unlabelled = (_number(score.kape), _number(score.distinct))
            row = (estimate.method, measure, *unlabelled)
            intervals = (_interval(score.sample), _interval(score.combined))
            rows.append((*row, *intervals) if judged else row)
    more = ("judged alone", "judged and estimated") if judged else ()
    return Table((*header, *more), rows, text_columns=2)


def _neighbour_table(estimate: MethodEstimate) -> Table:
    """Return MRR by KAPE and neighbours used, for each k."""
    header = ("k", "MRR", "neighbours used, mean", "fewest")
    by_k = estimate.by_k or (None,) * len(estimate.used)
    rows = [
        (str(used.k), _number(value), f"{used.mean:.2f}", str(used.minimum))
        for value, used in zip(by_k, estimate.used, strict=True)
    ]
    return Table(header, rows, text_columns=0)


def plan_table(report: EstimationReport) -> Table:
    """Return a row for each method and half-width, in labels and money."""
    labels = ("judged alone", "judged and estimated", "more", "cost")
    header = ("method", "metric", "half-width", *labels)
    rows = [
        (
            estimate.method,
            estimate.plan.measure,
            f"± {row.half_width:g}",
            count(row.alone),
            count(row.combined),
            count(row.more_combined),
            cost(report.price.of(row.more_combined)),
        )
        for estimate in report.estimates
        if estimate.plan
        for row in sorted(estimate.plan.rows, key=lambda row: -row.half_width)
    ]
    return Table(header, rows, text_columns=2)


def comparison_table(report: EstimationReport) -> Table:
    """Return a row for each two methods; no rows with one method."""
    header = ("first", "second", "by KAPE", "judged alone", "judged and estimated", "apart")
    differences = report.comparison.differences if report.comparison else ()
    rows = [
        (
            each.first,
            each.second,
            _number(each.kape, sign="+"),
            _interval(each.sample, sign="+"),
            _interval(each.combined, sign="+"),
            _apart(each),
        )
        for each in differences
    ]
    return Table(header, rows, text_columns=2)


def order_table(report: EstimationReport) -> Table:
    """Return the methods by falling estimate, with the truth where known; no rows with one."""
    comparison = report.comparison
    if comparison is None:
        return Table(("", "method"), [])
    known = comparison.truth
    rows = []
    for place, (method, value) in enumerate(comparison.order, 1):
        truth = f"{known[method]:.3f}" if method in known else UNKNOWN
        rows.append((str(place), method, _number(value), *((truth,) if known else ())))
    header = ("", "method", comparison.measure, *(("truth",) if known else ()))
    return Table(header, rows, text_columns=2)


def _interval(value: Interval | None, sign: str = "") -> str:
    """Return ``0.755 [0.685, 0.825]``, or a dash."""
    if value is None:
        return NONE
    return f"{value.mean:{sign}.3f} [{value.low:{sign}.3f}, {value.high:{sign}.3f}]"


def _number(value: float | None, sign: str = "") -> str:
    return _WITHHELD if value is None else f"{value:{sign}.3f}"


def _apart(difference: Difference) -> str:
    """Return whether the judged queries tell two methods apart."""
    if difference.combined is None:
        return NONE
    return "yes" if difference.combined.low > 0 or difference.combined.high < 0 else "no"


def estimation_document(report: EstimationReport) -> Document:
    """Return the report as a document."""
    refusals = [sentence for each in report.estimates if (sentence := refusal(each))]
    return Document(
        kind="Estimate",
        title=f"Estimated scores: {report.title}",
        lead=[
            Paragraph(f"{summary(report)} · {report.generated_at}"),
            *(Paragraph((Span("Too far."), sentence), "banner") for sentence in refusals),
            *map(Paragraph, notes(report)),
        ],
        sections=[
            Section("scores", "Scores", list(_scores(report))),
            *_compared(report),
            Section("plan", "What to label", list(_to_label(report))),
            Section("rests", "What the estimates rest on", list(_basis(report.estimates))),
        ],
    )


def _scores(report: EstimationReport) -> Iterator[Block]:
    first = report.estimates[0]
    yield estimate_table(report)
    yield (
        f"KAPE takes the score of each query from the {first.k} training queries nearest to it, "
        "and has no interval. Distinct codes: the same with each neighbour once, among as many "
        "codes as there are queries, as the estimator kape-distinct has it, so that queries which "
        "share a neighbour do not lower it. Intervals are of the mean over all queries, from those "
        "that were judged. Judged and estimated: KAPE's estimate of each query, and the model's "
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
    if score.kape is not None:
        yield Mark(score.kape, f"without labels: {score.kape:.3f}", style=_KAPE)


def _compared(report: EstimationReport) -> Iterator[Section]:
    if report.comparison is None:
        return
    how = (
        f"{report.comparison.measure} of the first less that of the second. Apart: the last "
        "interval does not hold 0."
    )
    told = Paragraph(" ".join((how, *comparison_sentences(report))), "remark")
    yield Section(
        "compared", "Methods compared", [order_table(report), comparison_table(report), told]
    )


def _to_label(report: EstimationReport) -> Iterator[Block]:
    for each in report.estimates:
        yield Paragraph((Span(f"{each.method}:"), plan_sentence(each, report.price)))
        yield Paragraph(_plan_basis(each), "remark")
    yield plan_table(report)
    yield (
        "Queries to label in all for an interval of that half-width: by their true values alone, "
        "and with the estimates as control variates. They must be drawn at random from all queries."
    )


def _basis(estimates: Sequence[MethodEstimate]) -> Iterator[Block]:
    for each in estimates:
        near = each.similarities
        groups = {"the queries": near.queries}
        if near.training:
            groups["training queries to their nearest other one"] = near.training
        yield Paragraph(each.method, "h3")
        yield _density_chart(groups, near.grid)
        yield Key(dict(zip(groups, (_COMBINED, _ALONE), strict=False)))
        yield Paragraph(_distance_sentence(each))
        yield _neighbour_table(each)


def _density_chart(groups: Mapping[str, Density], grid: Sequence[float]) -> Chart:
    drawn = []
    for (name, group), style in zip(groups.items(), (_COMBINED, _ALONE), strict=False):
        median, low, high = (group.quantiles[level] for level in ("0.5", "0.05", "0.95"))
        told = f"{group.size:,} of {name}: median {median:.2f}, 90% from {low:.2f} to {high:.2f}"
        points = list(zip(grid, group.curve, strict=True))
        drawn.append(Line(points, told, style, upright=median))
    across = [(tick, f"{tick:g}") for tick in steps(grid[0], grid[-1], 6)]
    highest = max(max(group.curve) for group in groups.values()) or 1
    alt = "; ".join(line.tooltip for line in drawn)
    svg = lines(alt, drawn, across, highest=highest)
    return Chart("Similarity to the nearest training query", svg, "Upright lines are medians")
