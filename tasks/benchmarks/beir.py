"""BEIR's folders (Thakur et al. 2021, arXiv 2104.08663), written; `tasks.inputs` reads them."""

import json
from collections.abc import Mapping
from pathlib import Path

from infra.records import Code, Query
from tasks.benchmarks.benchmark import Benchmark, columns_of
from tasks.benchmarks.splits import SPLITS
from tasks.benchmarks.trec import write_lines


def write_beir(benchmark: Benchmark, folder: Path) -> None:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``, sorted by id.

    Where the queries are split, ``qrels/`` has a file for each part.
    """
    (folder / "qrels").mkdir(parents=True)
    columns = columns_of(benchmark)
    corpus = (
        {"_id": code.code_id, "title": "", "text": code.text, **_metadata(code)}
        for code in columns.codes.ordered()
    )
    write_lines(folder / "corpus.jsonl", map(_json_line, corpus))
    questions = (
        {"_id": query.query_id, "text": query.text, **_metadata(query)}
        for query in columns.queries.ordered()
    )
    write_lines(folder / "queries.jsonl", map(_json_line, questions))
    parts: dict[str, list[str]] = {part: [] for part in (SPLITS if benchmark.splits else ["test"])}
    for label in columns.labels.ordered():
        line = f"{label.query_id}\t{label.code_id}\t{label.relevance:.12g}"
        parts[benchmark.splits.get(label.query_id, "test")].append(line)
    for part, lines in parts.items():
        header = "query-id\tcorpus-id\tscore"
        write_lines(folder / "qrels" / f"{part}.tsv", [header, *lines])


def _metadata(record: Query | Code) -> dict[str, dict[str, str]]:
    """Return BEIR's ``metadata``: split, source, language, licence and address where known."""
    known = {name: getattr(record, name) for name in sorted(record.added) if getattr(record, name)}
    return {"metadata": known} if known else {}


def _json_line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False)
