"""Figures of labels: matches per query, share of matches by rank, support."""

from collections.abc import Iterator, Mapping
from math import isnan

from infra.summaries import LabelShape
from tasks.reports.document import Figure, Table
from tasks.reports.figures import Dot, columns_figure, dots_figure, stack_figure
from tasks.statistics.agreement import Agreement
from tasks.statistics.intervals import wilson_interval


def shape_figures(shape: LabelShape) -> Iterator[Figure]:
    """Yield the figures of labels whose data is known."""
    if shape.matches:
        yield matches_figure(shape.matches)
    if shape.ranks:
        # The share of matches among the labelled candidates of each rank, by Wilson.
        found = [(each, wilson_interval(each.matches, each.labelled)) for each in shape.ranks]
        dots = [Dot(str(each.rank), one.mean, one) for each, one in found]
        rows = [
            (dot.name, f"{each.matches:,}", f"{each.labelled:,}", str(dot))
            for each, dot in zip(shape.ranks, dots, strict=True)
        ]
        header = ("rank", "matches", "labelled", "share [95% interval]")
        table = Table(header, rows, caption="Share of matches by the rank of the candidate")
        yield columns_figure("rank", "share of matches", dots, table)
    if shape.bases:
        counts = {(support, path): number for support, path, number in shape.bases}
        yield stack_figure(counts, "rests on", "path", "What the labels rest on")


def matches_figure(matches: Mapping[int, int]) -> Figure:
    """Return the figure of matches per query."""
    columns = [Dot(str(number), queries, digits=0) for number, queries in matches.items()]
    rows = [(str(number), f"{queries:,}") for number, queries in matches.items()]
    table = Table(("matches", "queries"), rows, caption="Matches per query")
    return columns_figure("matches", "queries", columns, table)


def agreement_figure(found: Agreement) -> Figure:
    """Return the figure of the annotators' agreement, from -1 to 1."""
    named = {"Krippendorff's alpha, all": found.alpha} | {
        f"Cohen's kappa, {two.first} and {two.second}": two.kappa for two in found.each_two
    }
    # Where resamples do not differ there is no interval.
    dots = [
        Dot(name, one.mean, one if one.low < one.high else None)
        for name, one in named.items()
        if not isnan(one.mean)
    ]
    rows = [(dot.name, str(dot)) for dot in dots]
    header = ("measure", "agreement [95% interval]")
    return dots_figure("agreement", dots, Table(header, rows), (-1.0, 1.0))


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
