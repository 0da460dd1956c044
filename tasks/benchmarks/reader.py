"""Reading of an exported benchmark, its checksums verified first."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infra.records import Code, Label, Query
from tasks.benchmarks.benchmark import Benchmark, LabelRecipe
from tasks.benchmarks.evidence import EVIDENCE_FILE, ExportedAnnotations
from tasks.benchmarks.manifest import MANIFEST, verify_export
from tasks.benchmarks.rows import Row, Rows, Undecided
from tasks.benchmarks.schemas import CODES, LABELS, QUERIES, SPLITS, UNDECIDED

_RECIPE = set(LabelRecipe.model_fields)


def is_export(folder: Path) -> bool:
    """Return whether a folder looks like an export."""
    return (folder / MANIFEST).is_file()


def read_benchmark(folder: Path) -> Benchmark:
    """Return an export as the benchmark that it was written from.

    Pairs left undecided and evidence are there if the export lists them. The evidence stays in its
    file until somebody goes through it, and is verified then. BEIR's copies are not read, and so
    not verified.

    Raises:
        PublishError: The folder is no export, or a table of it is missing or changed.
    """
    manifest = verify_export(folder, _is_read)
    splits = _table(folder, "splits", SPLITS)
    return Benchmark(
        name=manifest.name,
        label_origin=manifest.label_origin,
        queries=_rows(Query, folder, "queries", QUERIES),
        codes=_rows(Code, folder, "codes", CODES),
        labels=_rows(Label, folder, "labels", LABELS),
        sources=manifest.sources,
        recipe=manifest.recipe,
        recipes=tuple(LabelRecipe(**item.model_dump(include=_RECIPE)) for item in manifest.recipes),
        rounds=manifest.rounds,
        undecided=_rows(Undecided, folder, "undecided", UNDECIDED),
        failed=manifest.counts.get("failed", 0),
        dropped=manifest.dropped,
        evidence=_VerifiedAnnotations(folder),
        code_base=manifest.code_base,
        splits=dict(zip(splits["query_id"].to_pylist(), splits["split"].to_pylist(), strict=True)),
    )


class _VerifiedAnnotations(ExportedAnnotations):
    """The evidence of an export, whose checksum is compared each time before it is read."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the annotations of the file.

        Raises:
            PublishError: The file is missing or changed.
        """
        verify_export(self.folder, EVIDENCE_FILE.__eq__)
        yield from super().batches()


def _is_read(path: str) -> bool:
    return path.endswith(".parquet") and path != EVIDENCE_FILE


def _rows(kind: type[Row], folder: Path, name: str, schema: pa.Schema) -> Rows[Row]:
    return Rows(kind, _table(folder, name, schema))


def _table(folder: Path, name: str, schema: pa.Schema) -> pa.Table:
    file = folder / f"{name}.parquet"
    return pq.read_table(file) if file.exists() else schema.empty_table()
