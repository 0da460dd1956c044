"""Reading of an exported benchmark, its checksums verified first."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from infra.records import Annotation, Code, Execution, ExecutionResult, Label, Query
from tasks.benchmarks.benchmark import Benchmark, Undecided
from tasks.benchmarks.manifest import MANIFEST, verify_export

_NESTED = ("oracle", "tests", "repairs")  # JSON texts; older exports have the first alone


def is_export(folder: Path) -> bool:
    """Return whether a folder looks like an export."""
    return (folder / MANIFEST).is_file()


def read_benchmark(folder: Path) -> Benchmark:
    """Return an export as the benchmark that it was written from.

    Pairs left undecided and evidence are there if the export lists them.

    Raises:
        PublishError: The folder is no export, or a file of it is missing or changed.
    """
    manifest = verify_export(folder)
    return Benchmark(
        name=manifest.name,
        label_origin=manifest.label_origin,
        queries=tuple(Query.model_validate(row) for row in _rows(folder, "queries")),
        codes=tuple(Code.model_validate(row) for row in _rows(folder, "codes")),
        labels=tuple(Label.model_validate(row) for row in _rows(folder, "labels")),
        sources=manifest.sources,
        recipe=manifest.recipe,
        undecided=tuple(_undecided(row) for row in _rows(folder, "undecided")),
        failed=manifest.counts.get("failed", 0),
        dropped=manifest.dropped,
        evidence=tuple(_annotation(row) for row in _rows(folder, "evidence")),
    )


def _rows(folder: Path, table: str) -> list[dict[str, object]]:
    file = folder / f"{table}.parquet"
    rows: list[dict[str, object]] = pq.read_table(file).to_pylist() if file.exists() else []
    return rows


def _undecided(row: dict[str, object]) -> Undecided:
    return Undecided.model_validate({key: row[key] for key in Undecided.model_fields})


def _annotation(row: dict[str, object]) -> Annotation:
    runs = row["executions"]
    executions = [_execution(run) for run in runs] if isinstance(runs, list) else []
    return Annotation.model_validate(row | {"executions": executions})


def _execution(row: dict[str, object]) -> dict[str, object]:
    nested = {name: json.loads(str(row.get(name) or "null")) for name in _NESTED}
    outer = Execution.model_fields.keys() - {"result", "oracle", "repairs"}
    result = {key: row[key] for key in ExecutionResult.model_fields.keys() - {"tests"}}
    return {key: row[key] for key in outer} | {
        "result": result | {"tests": nested["tests"] or ()},
        "oracle": nested["oracle"],
        "repairs": nested["repairs"] or (),
    }
