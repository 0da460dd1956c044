"""The Parquet files of an export: one row a record, sorted by id."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infra.records import Annotation, Record
from tasks.benchmarks.benchmark import Benchmark

_TEXT = pa.string()
_PAIR = {"query_id": _TEXT, "code_id": _TEXT}

QUERIES = pa.schema({"query_id": _TEXT, "text": _TEXT, "origin": _TEXT, "split": _TEXT})
CODES = pa.schema(
    {
        "code_id": _TEXT,
        "text": _TEXT,
        "name": _TEXT,
        "module": _TEXT,
        "first_line": pa.int32(),
        "last_line": pa.int32(),
        "documentation": _TEXT,
        "parameters": pa.list_(_TEXT),
        "origin": _TEXT,
        "source": _TEXT,
        "language": _TEXT,
        "licence": _TEXT,
        "url": _TEXT,
        "split": _TEXT,
    }
)
LABELS = pa.schema({**_PAIR, "relevance": pa.float64(), "origin": _TEXT, "demo": pa.bool_()})
SPLITS = pa.schema({"query_id": _TEXT, "split": _TEXT})
ROUNDS = pa.schema(
    {**_PAIR, "round": pa.int32(), "recipe_id": _TEXT, "status": _TEXT, "label": pa.int8()}
)
UNDECIDED = pa.schema({**_PAIR, "reason": _TEXT, "demo": pa.bool_()})

_CALL = pa.struct(
    {
        "role": _TEXT,
        "attempt": pa.int32(),
        "model": _TEXT,
        "prompt_digest": _TEXT,
        "status": _TEXT,
        "reply": _TEXT,
        "error": _TEXT,
        "prompt_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
        "cost_usd": pa.float64(),
        "seconds": pa.float64(),
        "cached": pa.bool_(),
    }
)
_EXECUTION = pa.struct(
    {
        "round": pa.int32(),
        "program": _TEXT,
        "requirements": pa.list_(_TEXT),
        "outcome": _TEXT,
        "error_type": _TEXT,
        "message": _TEXT,
        "missing_module": _TEXT,
        "seconds": pa.float64(),
        "peak_memory_mb": pa.float64(),
        "stdout": _TEXT,
        "stderr": _TEXT,
        "tests_run": pa.int32(),
        "asserts_executed": pa.int32(),
        "target_calls": pa.int32(),
        "oracle": _TEXT,
        "tests": _TEXT,
        "repairs": _TEXT,
    }
)
EVIDENCE = pa.schema(
    {
        **_PAIR,
        "recipe_id": _TEXT,
        "status": _TEXT,
        "label": pa.int8(),
        "decided_by": _TEXT,
        "path": _TEXT,
        "reason": _TEXT,
        "demo": pa.bool_(),
        "grade": _TEXT,
        "judgements": pa.int32(),
        "agreeing": pa.int32(),
        "seconds": pa.float64(),
        "calls": pa.list_(_CALL),
        "executions": pa.list_(_EXECUTION),
    }
)


def write_tables(benchmark: Benchmark, folder: Path, *, include_undecided: bool) -> None:
    """Write queries, codes, labels; undecided pairs, split, rounds, evidence where there are."""
    _write(folder / "queries.parquet", QUERIES, _rows(benchmark.queries))
    _write(folder / "codes.parquet", CODES, _rows(benchmark.codes))
    _write(folder / "labels.parquet", LABELS, _rows(benchmark.labels))
    if include_undecided:
        marked = [row | {"demo": benchmark.demo} for row in _rows(benchmark.undecided)]
        _write(folder / "undecided.parquet", UNDECIDED, marked)
    if benchmark.splits:
        parts = [{"query_id": query, "split": part} for query, part in benchmark.splits.items()]
        _write(folder / "splits.parquet", SPLITS, parts)
    if benchmark.rounds:
        _write(folder / "rounds.parquet", ROUNDS, _round_rows(benchmark))
    if benchmark.evidence:
        rows = [_evidence_row(annotation) for annotation in benchmark.evidence]
        _write(folder / "evidence.parquet", EVIDENCE, rows)


def _rows(records: Iterable[Record]) -> list[dict[str, object]]:
    return [record.model_dump() for record in records]


def _round_rows(benchmark: Benchmark) -> list[dict[str, object]]:
    number = {recipe_id: place for place, recipe_id in enumerate(benchmark.rounds, 1)}
    fields = {"query_id", "code_id", "recipe_id", "status", "label"}
    rows = [
        item.model_dump(include=fields) | {"round": number[item.recipe_id]}
        for item in benchmark.evidence
        if item.recipe_id in number
    ]
    return sorted(rows, key=lambda row: row["round"])


def _evidence_row(annotation: Annotation) -> dict[str, object]:
    executions = [
        run.model_dump(exclude={"result", "oracle", "repairs"})
        | run.result.model_dump(exclude={"tests"})
        | {"oracle": run.oracle and run.oracle.model_dump_json()}
        | {"tests": _json(run.result.tests), "repairs": _json(run.repairs)}
        for run in annotation.executions
    ]
    return annotation.model_dump(by_alias=True) | {"executions": executions}


def _json(records: Iterable[Record]) -> str:
    return json.dumps([record.model_dump() for record in records])


def _write(file: Path, schema: pa.Schema, rows: Sequence[Mapping[str, object]]) -> None:
    keys = [name for name in schema.names if name in {"query_id", "code_id"}]
    ordered = sorted(rows, key=lambda row: [str(row[key]) for key in keys])
    table = pa.Table.from_pylist(ordered, schema=schema)
    pq.write_table(table, file, compression="zstd")
