"""What labels say, drawn: matches per query, share of matches by rank, what the labels rest on."""

from collections.abc import Iterator, Mapping, Sequence

from infra.summaries import LabelShape, RankCounts
from tasks.reports.document import Figure, Table
from tasks.reports.figures import Dot, columns_figure, stack_figure
from tasks.statistics.intervals import wilson_interval


def shape_figures(shape: LabelShape) -> Iterator[Figure]:
    """Yield what is known of labels, each a figure."""
    if shape.matches:
        yield matches_figure(shape.matches)
    if shape.ranks:
        yield _ranks_figure(shape.ranks)
    if shape.bases:
        counts = {(support, path): number for support, path, number in shape.bases}
        yield stack_figure(counts, "rests on", "path", "What the labels rest on")


def matches_figure(matches: Mapping[int, int]) -> Figure:
    """Return how many queries have how many matches."""
    columns = [Dot(str(number), queries, digits=0) for number, queries in matches.items()]
    rows = [(str(number), f"{queries:,}") for number, queries in matches.items()]
    table = Table(("matches", "queries"), rows, caption="Matches per query")
    return columns_figure("matches", "queries", columns, table)


def _ranks_figure(ranks: Sequence[RankCounts]) -> Figure:
    """Return the share of matches among the labelled candidates of each rank, by Wilson."""
    found = [(each, wilson_interval(each.matches, each.labelled)) for each in ranks]
    dots = [Dot(str(each.rank), one.mean, one.low, one.high) for each, one in found]
    rows = [
        (dot.name, f"{each.matches:,}", f"{each.labelled:,}", str(dot))
        for (each, _), dot in zip(found, dots, strict=True)
    ]
    header = ("rank", "matches", "labelled", "share [95% interval]")
    table = Table(header, rows, caption="Share of matches by the rank of the candidate")
    return columns_figure("rank", "share of matches", dots, table)
