"""A leaderboard as a Markdown table, and every query's values as an Arrow table."""

from collections.abc import Sequence

import pyarrow as pa

from infra.markdown import markdown_table
from tasks.reports.leaderboard.build import Cell, Leaderboard, MethodScores


def leaderboard_markdown(leaderboard: Leaderboard) -> str:
    """Return the table: mean [interval] and the letters of the methods that score lower."""
    header = ("", "method", *leaderboard.metrics, "judged@10")
    rows = [
        (
            row.letter,
            row.method,
            *(cell_text(row.cells[metric]) for metric in leaderboard.metrics),
            f"{row.judged:.3f}",
        )
        for row in leaderboard.rows
    ]
    return markdown_table(header, rows, text_columns=2)


def cell_text(cell: Cell) -> str:
    """Return ``.603 [.571, .634] b c``."""
    letters = f" {cell.surpasses}" if cell.surpasses else ""
    return f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]{letters}"


def per_query_table(scores: Sequence[MethodScores]) -> pa.Table:
    """Return (method, query_id, one column for each metric), sorted by method and query."""
    metrics = list(scores[0].values) if scores else []
    columns: dict[str, list[object]] = {name: [] for name in ("method", "query_id", *metrics)}
    for entry in sorted(scores, key=lambda entry: entry.method):
        queries = sorted(next(iter(entry.values.values()), {}))
        columns["method"] += [entry.method] * len(queries)
        columns["query_id"] += queries
        for metric in metrics:
            columns[metric] += [entry.values[metric][query] for query in queries]
    types = {"method": pa.string(), "query_id": pa.string()}
    schema = pa.schema({name: types.get(name, pa.float64()) for name in columns})
    return pa.table(columns, schema=schema)
