"""TREC's run and qrels files (https://trec.nist.gov, as trec_eval reads them).

A run has lines ``query Q0 code rank score tag``, qrels have ``query 0 code relevance``. The ranks
are ignored, as trec_eval ignores them: scores decide, and ties fall by id. Runs are written by
`tasks.benchmarks.write_run`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from infra.atomic import replaced_file
from infra.errors import PublishError, SourceError
from infra.records import Label
from tasks.benchmarks.qrels import QrelsTable
from tasks.benchmarks.runs import Positions, Rankings, numbered, rank_rows
from tasks.files.columns import NAME, NUMBER, read_columns

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
        raise SourceError(f"{file}: {error}: list each result once, with its score") from None


def read_qrels(file: Path) -> QrelsTable:
    """Return the qrels of a file.

    Raises:
        SourceError: The file is missing, a line is malformed, or a pair is judged twice.
    """
    table = read_columns(file, _QRELS, {"query": NAME, "code": NAME, "relevance": NUMBER})
    return qrels_table(file, table)


def qrels_table(file: Path, table: pa.Table) -> QrelsTable:
    """Return the columns query, code and relevance of a file as qrels.

    Raises:
        SourceError: A pair is judged twice.
    """
    query_ids, rows = numbered(table["query"])
    code_ids, columns = numbered(table["code"])
    _refuse_repeated(file, query_ids, code_ids, rows * len(code_ids) + columns)
    return QrelsTable(query_ids, code_ids, rows, columns, table["relevance"].to_numpy())


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


RUNS = "runs"


def write_run(folder: Path, method: str, rankings: Iterable[tuple[str, str, float]]) -> Path:
    """Write a method's rankings as a TREC run beside an export and return the file's path.

    ``trec_eval`` ignores the ranks, reads scores in single precision and breaks ties in its own
    way. Equal scores are therefore parted by the smallest step, so that it sees this order.

    Args:
        folder: The export's folder; the file becomes ``runs/<method>.trec``.
        method: The method's name, free of white space and slashes.
        rankings: Rows (query id, code id, score), grouped by query, best first.

    Raises:
        PublishError: The name is unfit for a file, or a ranking is not in falling order.
    """
    if not method or method.startswith(".") or set(method) & set(" \t\n/\\"):
        raise PublishError(f"method name {method!r} cannot name a run file: use letters and dashes")
    file = folder / RUNS / f"{method}.trec"
    with replaced_file(file) as partial:
        _write_lines(partial, _run_lines(method, rankings))
    return file


def _run_lines(method: str, rankings: Iterable[tuple[str, str, float]]) -> Iterator[str]:
    query, rank, last, written = "", 0, np.inf, np.float32(np.inf)
    for query_id, code_id, score in rankings:
        if query_id != query:
            query, rank, last, written = query_id, 0, np.inf, np.float32(np.inf)
        if not score <= last:
            raise PublishError(
                f"the ranking of {method!r} for {query_id} is not in falling order: "
                f"{code_id} has {score} after {last}"
            )
        lower = np.nextafter(written, np.float32(-np.inf))
        rank, last, written = rank + 1, score, min(np.float32(score), lower)
        yield f"{query_id} Q0 {code_id} {rank} {written:.9g} {method}"


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
