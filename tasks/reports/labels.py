"""Figures of labels: matches per query, share of matches by rank, support."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from infra.summaries import LabelShape, RankCounts
from tasks.reports.document import Figure, Table
from tasks.reports.figures import Dot, columns_figure, dots_figure, stack_figure
from tasks.statistics.agreement import Agreement
from tasks.statistics.intervals import Interval, wilson_interval


def shape_figures(shape: LabelShape) -> Iterator[Figure]:
    """Yield the figures of labels whose data is known."""
    if shape.matches:
        yield matches_figure(shape.matches)
    if shape.ranks:
        yield _ranks_figure(shape.ranks)
    if shape.bases:
        counts = {(support, path): number for support, path, number in shape.bases}
        yield stack_figure(counts, "rests on", "path", "What the labels rest on")


def matches_figure(matches: Mapping[int, int]) -> Figure:
    """Return the figure of matches per query."""
    columns = [Dot(str(number), queries, digits=0) for number, queries in matches.items()]
    rows = [(str(number), f"{queries:,}") for number, queries in matches.items()]
    table = Table(("matches", "queries"), rows, caption="Matches per query")
    return columns_figure("matches", "queries", columns, table)


def _ranks_figure(ranks: Sequence[RankCounts]) -> Figure:
    """Return the share of matches among the labelled candidates of each rank, by Wilson."""
    found = [(each, wilson_interval(each.matches, each.labelled)) for each in ranks]
    dots = [Dot(str(each.rank), one.mean, one) for each, one in found]
    rows = [
        (dot.name, f"{each.matches:,}", f"{each.labelled:,}", str(dot))
        for (each, _), dot in zip(found, dots, strict=True)
    ]
    header = ("rank", "matches", "labelled", "share [95% interval]")
    table = Table(header, rows, caption="Share of matches by the rank of the candidate")
    return columns_figure("rank", "share of matches", dots, table)


def agreement_figure(found: Agreement) -> Figure:
    """Return the figure of the annotators' agreement, from -1 to 1."""
    named = {"Krippendorff's alpha, all": found.alpha} | {
        f"Cohen's kappa, {two.first} and {two.second}": two.kappa for two in found.each_two
    }
    dots = [_dot(name, one) for name, one in named.items() if not isnan(one.mean)]
    rows = [(dot.name, str(dot)) for dot in dots]
    header = ("measure", "agreement [95% interval]")
    return dots_figure("agreement", dots, Table(header, rows), (-1.0, 1.0))


def _dot(name: str, one: Interval) -> Dot:
    """Return a value, whose interval is none where resamples do not differ."""
    return Dot(name, one.mean, one if one.low < one.high else None)


def answers_figure(right: Mapping[str, Mapping[str, int]], queries: int) -> Figure:
    """Return the right answers of methods by participant, as KAPE's Figure 7.

    Args:
        right: Method → participant → number of right answers.
        queries: Number of questions.
    """
    names = sorted({name for by_person in right.values() for name in by_person})
    dots = [
        Dot(f"{name}: {method}", by_person[name], digits=0)
        for name in names
        for method, by_person in right.items()
    ]
    rows = [(dot.name, str(dot)) for dot in dots]
    table = Table(
        ("participant, method", f"right of {queries:,}"), rows,
        caption="Right answers; KAPE's five developers found 16.4 of RoBERTa's and 17.8 of "
        "CodeBERT's 23 right on average",
    )  # fmt: skip
    return dots_figure("right answers", dots, table, (0.0, float(queries)))
