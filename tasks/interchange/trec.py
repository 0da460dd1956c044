"""TREC's run and qrels files (https://trec.nist.gov, as trec_eval reads them).

A run has lines ``query Q0 code rank score tag``, qrels have ``query 0 code relevance``. The ranks
are ignored, as trec_eval ignores them: scores decide, and ties fall by id. Runs are written by
`tasks.export.write_run`.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from infra.errors import SourceError
from infra.records import Label
from tasks.interchange.columns import read_columns
from tasks.metrics.lists import Judgements
from tasks.retrievers.rankings import Rankings, rank_rows

_RUN = ("query", "Q0", "code", "rank", "score", "tag")
_QRELS = ("query", "iteration", "code", "relevance")


def read_run(file: Path) -> Rankings:
    """Return the rankings of a run file.

    Raises:
        SourceError: The file is missing, a line is malformed, a score is not a number, or a query
            has a code twice.
    """
    table = read_columns(file, _RUN, {"score": pa.float64()})
    scores = table["score"].to_numpy()
    try:
        return rank_rows(table["query"].combine_chunks(), table["code"].combine_chunks(), scores)
    except ValueError as error:
        raise SourceError(f"{file}: {error}: each result stands once, with its score") from None


def read_qrels(file: Path) -> Judgements:
    """Return the judgements of a qrels file.

    Raises:
        SourceError: The file is missing, a line is malformed, or a pair is judged twice.
    """
    table = read_columns(file, _QRELS, {"relevance": pa.float64()})
    return judgements_of(file, table)


def judgements_of(file: Path, table: pa.Table) -> Judgements:
    """Return the columns query, code and relevance as judgements.

    Raises:
        SourceError: A pair is judged twice.
    """
    queries, codes = table["query"].combine_chunks(), table["code"].combine_chunks()
    distinct = pc.unique(queries)
    distinct = distinct.take(pc.sort_indices(distinct))
    rows = pc.index_in(queries, distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    _refuse_repeated(file, queries, codes)
    relevance = table["relevance"].to_numpy()
    return Judgements(distinct.to_pylist(), rows, codes, relevance)


def write_qrels(file: Path, labels: Iterable[Label]) -> None:
    """Write labels as a qrels file, sorted by ids; fractions of grades are kept."""
    ordered = sorted(labels, key=lambda label: (label.query_id, label.code_id))
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(
            f"{label.query_id} 0 {label.code_id} {label.relevance:.12g}\n" for label in ordered
        )


def _refuse_repeated(file: Path, queries: pa.Array, codes: pa.Array) -> None:
    pairs = pa.table({"query": queries, "code": codes}).group_by(["query", "code"])
    counted = pairs.aggregate([([], "count_all")])
    repeated = counted.filter(pc.greater(counted["count_all"], 1))
    if repeated.num_rows:
        first = repeated.slice(0, 1).to_pylist()[0]
        raise SourceError(
            f"{file}: code {first['code']!r} is judged twice for query {first['query']!r}: "
            "keep one of the lines"
        )
