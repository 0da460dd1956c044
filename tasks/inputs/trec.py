"""TREC's run files (https://trec.nist.gov, as trec_eval reads them), and qrels from columns.

A run has lines ``query Q0 code rank score tag``. The ranks are ignored, as trec_eval ignores them:
scores decide, and ties fall by id.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from infra.errors import SourceError
from tasks.benchmarks.qrels import QrelsTable
from tasks.benchmarks.runs import Numbering, Positions, Rankings, numbered, rank_numbered
from tasks.inputs.columns import NAME, NUMBER, line_of, read_columns, stream_columns
from tasks.inputs.text import UNREADABLE

_RUN = ("query", "Q0", "code", "rank", "score", "tag")


def read_run(file: Path) -> Rankings:
    """Return the rankings of a run file.

    Raises:
        SourceError: The file is missing, a line is malformed, a score is not a number, a query has
            a code twice, or few rankings are far longer than the others.
    """
    types = {"query": NAME, "code": NAME, "score": NUMBER}
    try:
        columns = _run_columns(stream_columns(file, _RUN, types))
    except (*UNREADABLE, pa.ArrowInvalid):
        columns = _run_columns(read_columns(file, _RUN, types).to_batches())
    queries, rows, codes, positions, scores = columns
    for place in np.flatnonzero(np.isnan(scores))[:1].tolist():
        line = line_of(file, queries[rows[place]], codes[positions[place]])
        raise SourceError(f"{line}: a score is not a number: list each result with its score")
    try:
        return rank_numbered(*columns)
    except ValueError as error:
        raise SourceError(f"{file}: {error}") from None


def _run_columns(
    batches: Iterable[pa.RecordBatch],
) -> tuple[list[str], Positions, list[str], Positions, npt.NDArray[np.float64]]:
    """Return a run's columns as `rank_numbered` takes them."""
    queries, codes, scores = Numbering(), Numbering(), [np.empty(0)]
    for batch in batches:
        queries.add(batch["query"])
        codes.add(batch["code"])
        scores.append(batch["score"].to_numpy(zero_copy_only=False))
    return *queries.result(), *codes.result(), np.concatenate(scores)


def qrels_table(file: Path, table: pa.Table) -> QrelsTable:
    """Return the columns query, code and relevance of a file as qrels.

    Raises:
        SourceError: A pair is judged twice, or by no finite number.
    """
    query_ids, rows = numbered(table["query"])
    code_ids, columns = numbered(table["code"])
    _refuse_repeated(file, query_ids, code_ids, rows * len(code_ids) + columns)
    relevance = table["relevance"].to_numpy()
    for place in np.flatnonzero(~np.isfinite(relevance))[:1].tolist():
        query, code = query_ids[int(rows[place])], code_ids[int(columns[place])]
        raise SourceError(
            f"{line_of(file, query, code)}: the relevance of code {code!r} for query {query!r} is "
            f"{relevance[place]}: give each pair a finite number"
        )
    return QrelsTable(query_ids, code_ids, rows, columns, relevance)


def _refuse_repeated(
    file: Path, query_ids: list[str], code_ids: list[str], pairs: npt.NDArray[np.int64]
) -> None:
    ordered = np.sort(pairs)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size:
        row, column = divmod(int(repeated[0]), len(code_ids))
        query, code = query_ids[row], code_ids[column]
        raise SourceError(
            f"{line_of(file, query, code)}: code {code!r} is judged twice for query {query!r}: "
            "keep one of the lines"
        )
