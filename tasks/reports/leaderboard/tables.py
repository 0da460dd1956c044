"""The leaderboard as Markdown, and every query's values as an Arrow table."""

from collections.abc import Sequence

import pyarrow as pa

from infra.markdown import markdown_table
from tasks.reports.leaderboard.standings import Cell, Leaderboard, MethodScores


def leaderboard_markdown(leaderboard: Leaderboard) -> str:
    """Return the table: mean [interval] and the letters of the methods that are surpassed."""
    header = ("", "method", *leaderboard.metrics, "judged@10")
    rows = [
        (
            each.letter,
            each.method,
            *(cell_words(each.cells[metric]) for metric in leaderboard.metrics),
            f"{each.judged:.3f}",
        )
        for each in leaderboard.standings
    ]
    return markdown_table(header, rows, words=2)


def cell_words(cell: Cell) -> str:
    """Return ``.603 [.571, .634] b c``."""
    letters = f" {cell.surpasses}" if cell.surpasses else ""
    return f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]{letters}"


def per_query_table(scores: Sequence[MethodScores]) -> pa.Table:
    """Return (method, query_id, one column for each metric), sorted by method and query."""
    metrics = list(scores[0].values) if scores else []
    columns: dict[str, list[object]] = {name: [] for name in ("method", "query_id", *metrics)}
    for each in sorted(scores, key=lambda each: each.method):
        queries = sorted(next(iter(each.values.values()), {}))
        columns["method"] += [each.method] * len(queries)
        columns["query_id"] += queries
        for metric in metrics:
            columns[metric] += [each.values[metric][query] for query in queries]
    types = {"method": pa.string(), "query_id": pa.string()}
    schema = pa.schema({name: types.get(name, pa.float64()) for name in columns})
    return pa.table(columns, schema=schema)
