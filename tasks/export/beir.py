"""The BEIR layout and TREC run files, which other evaluation libraries read as they stand.

``title`` is empty on purpose: BEIR's tools search title and text together, and the functions' names
are no part of the text that is searched.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from infra.atomic import replaced_file
from infra.errors import PublishError
from infra.records import Label
from tasks.export.benchmark import Benchmark

RUNS = "runs"


def write_beir(benchmark: Benchmark, folder: Path) -> None:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``, sorted by id."""
    (folder / "qrels").mkdir(parents=True)
    codes = sorted(benchmark.codes, key=lambda code: code.code_id)
    corpus = ({"_id": code.code_id, "title": "", "text": code.text} for code in codes)
    _write_lines(folder / "corpus.jsonl", map(_json_line, corpus))
    queries = sorted(benchmark.queries, key=lambda query: query.query_id)
    asked = ({"_id": query.query_id, "text": query.text} for query in queries)
    _write_lines(folder / "queries.jsonl", map(_json_line, asked))
    labels = sorted(benchmark.labels, key=lambda label: (label.query_id, label.code_id))
    header = "query-id\tcorpus-id\tscore"
    _write_lines(folder / "qrels" / "test.tsv", [header, *map(_judgement, labels)])


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


def _judgement(label: Label) -> str:
    return f"{label.query_id}\t{label.code_id}\t{label.relevance:.12g}"


def _json_line(row: Mapping[str, str]) -> str:
    return json.dumps(row, ensure_ascii=False)


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
