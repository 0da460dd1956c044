"""TREC's run and qrels files (https://trec.nist.gov, as trec_eval reads them).

A run has lines ``query Q0 code rank score tag``, qrels have ``query 0 code relevance``. The ranks
are ignored, as trec_eval ignores them: scores decide, and ties fall by id. Runs are written by
`tasks.export.write_run`.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from infra.errors import SourceError
from infra.records import Label
from tasks.interchange.columns import NAME, NUMBER, read_columns
from tasks.metrics.lists import Judgements
from tasks.retrievers.rankings import Positions, Rankings, numbered, rank_rows

_RUN = ("query", "Q0", "code", "rank", "score", "tag")
_QRELS = ("query", "iteration", "code", "relevance")


def read_run(file: Path) -> Rankings:
    """Return the rankings of a run file.

    Raises:
        SourceError: The file is missing, a line is malformed, a score is not a number, or a query
            has a code twice.
    """
    table = read_columns(file, _RUN, {"query": NAME, "code": NAME, "score": NUMBER})
    scores = table["score"].to_numpy()
    try:
        return rank_rows(table["query"], table["code"], scores)
    except ValueError as error:
        raise SourceError(f"{file}: {error}: each result stands once, with its score") from None


def read_qrels(file: Path) -> Judgements:
    """Return the judgements of a qrels file.

    Raises:
        SourceError: The file is missing, a line is malformed, or a pair is judged twice.
    """
    table = read_columns(file, _QRELS, {"query": NAME, "code": NAME, "relevance": NUMBER})
    return judgements_of(file, table)


def judgements_of(file: Path, table: pa.Table) -> Judgements:
    """Return the columns query, code and relevance as judgements.

    Raises:
        SourceError: A pair is judged twice.
    """
    query_ids, rows = numbered(table["query"])
    code_ids, columns = numbered(table["code"])
    _refuse_repeated(file, query_ids, code_ids, rows * len(code_ids) + columns)
    return Judgements(query_ids, code_ids, rows, columns, table["relevance"].to_numpy())


def write_qrels(file: Path, labels: Iterable[Label]) -> None:
    """Write labels as a qrels file, sorted by ids; fractions of grades are kept."""
    ordered = sorted(labels, key=lambda label: (label.query_id, label.code_id))
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(
            f"{label.query_id} 0 {label.code_id} {label.relevance:.12g}\n" for label in ordered
        )


def _refuse_repeated(
    file: Path, query_ids: list[str], code_ids: list[str], pairs: Positions
) -> None:
    ordered = np.sort(pairs)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size:
        row, column = divmod(int(repeated[0]), len(code_ids))
        raise SourceError(
            f"{file}: code {code_ids[column]!r} is judged twice for query {query_ids[row]!r}: "
            "keep one of the lines"
        )
