"""Reading of an exported benchmark, its checksums and its fingerprint verified first."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import pyarrow as pa

from infra.errors import PublishError
from infra.records import Annotation, Code, Label, Query
from tasks.benchmarks.benchmark import (
    Benchmark,
    LabelRecipe,
    benchmark_fingerprint,
    check_benchmark,
    columns_of,
)
from tasks.benchmarks.evidence import EVIDENCE_FILE, NO_ANNOTATIONS, ExportedAnnotations
from tasks.benchmarks.manifest import MANIFEST, SHARED, Manifest, is_export, verify_export
from tasks.benchmarks.rows import QuerySpecification, Row, Rows, Undecided
from tasks.inputs.formats import BenchmarkFormat, formats
from tasks.inputs.tables import read_table, readable

_RECIPE = set(LabelRecipe.model_fields)
_REQUIRED = ("queries", "codes", "labels")


@formats.register("export")
class Export(BenchmarkFormat):
    """An exported benchmark: a folder that `cosqa publish` has written."""

    sign = f"an export's {MANIFEST}"
    turn = 0

    @classmethod
    def at(cls, path: Path, usual: str) -> Self | None:
        """Return the export in a folder with a manifest."""
        del usual
        return cls(path) if is_export(path) else None

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.benchmark().name

    def benchmark(self, *, needs_labels: bool = True) -> Benchmark:
        """Return the benchmark that it was written from, which has labels."""
        del needs_labels
        return self._benchmark

    @cached_property
    def _benchmark(self) -> Benchmark:
        return read_benchmark(self.path)


def read_benchmark(folder: Path) -> Benchmark:
    """Return an export as the benchmark that it was written from.

    Pairs left undecided and evidence are there if the export lists them. The evidence
    stays in its file until somebody goes through it, and is verified then. BEIR's copies are not
    read, and so not verified. Each record is read once, some 15 microseconds for a function.

    Raises:
        PublishError: The folder is no export, a table of it is missing, changed, not listed or
            none, or the tables are not those of the benchmark that the manifest names.
    """
    manifest = verify_export(
        folder, lambda path: path.endswith(".parquet") and path != EVIDENCE_FILE
    )
    listed = _listed(manifest)
    required = [*_REQUIRED]
    required += ["undecided"] if manifest.undecided_listed else []
    required += ["splits"] if manifest.splits else []
    required += ["specifications"] if manifest.counts.get("queries_specified") else []
    for name in required:
        if f"{name}.parquet" not in listed:
            raise PublishError(f"{folder} does not list {name}.parquet: publish again")
    for file in sorted(folder.glob("*.parquet")):
        if file.name not in listed:
            raise PublishError(
                f"{file} is no part of the export, whose {MANIFEST} does not list it: move it away"
            )
    with readable(folder / MANIFEST):
        benchmark = _benchmark(folder, manifest)
    found = _fingerprint(folder, manifest, benchmark)
    if found != manifest.fingerprint:
        raise PublishError(
            f"{folder} holds another benchmark than its {MANIFEST} names: the fingerprint is "
            f"{manifest.fingerprint}, that of its records {found}: publish again"
        )
    columns = columns_of(benchmark)
    counts = {name: len(getattr(columns, name)) for name in _REQUIRED}
    other = [name for name in _REQUIRED if manifest.counts[name] != counts[name]]
    if other:
        raise PublishError(f"{folder / MANIFEST} is wrong about {', '.join(other)}: publish again")
    check_benchmark(benchmark)
    return benchmark


def read_exported(folder: Path, name: str, columns: Sequence[str]) -> pa.Table:
    """Return columns of one table of an export, its checksum verified first.

    Raises:
        PublishError: The folder is no export, or the table is missing, changed, or none.
    """
    file = f"{name}.parquet"
    if file not in _listed(verify_export(folder, file.__eq__)):
        raise PublishError(f"{folder} has no {file}: publish again")
    return read_table(folder / file, columns)


def _benchmark(folder: Path, manifest: Manifest) -> Benchmark:
    splits: dict[str, str] = {}
    if manifest.splits:
        table = read_table(folder / "splits.parquet", ("query_id", "split"))
        splits = dict(zip(table["query_id"].to_pylist(), table["split"].to_pylist(), strict=True))
    listed = _listed(manifest)

    return Benchmark(
        **{name: getattr(manifest, name) for name in SHARED},
        queries=_rows(Query, folder, "queries"),
        codes=_rows(Code, folder, "codes"),
        labels=_rows(Label, folder, "labels"),
        sources=manifest.sources,
        recipes=tuple(LabelRecipe(**item.model_dump(include=_RECIPE)) for item in manifest.recipes),
        undecided=_rows(Undecided, folder, "undecided") if manifest.undecided_listed else (),
        specifications=(
            _rows(QuerySpecification, folder, "specifications")
            if "specifications.parquet" in listed
            else ()
        ),
        failed=manifest.counts.get("failed", 0),
        dropped=manifest.dropped,
        evidence=_VerifiedAnnotations(folder) if EVIDENCE_FILE in listed else NO_ANNOTATIONS,
        splits=splits,
    )


@dataclass(frozen=True)
class _VerifiedAnnotations(ExportedAnnotations):
    """The evidence of an export, whose checksum is compared each time before it is read.

    Raises:
        PublishError: The file is missing, changed or no such table.
    """

    @contextmanager
    def _opened(self) -> Iterator[Path]:
        verify_export(self.folder, EVIDENCE_FILE.__eq__)
        file = self.folder / EVIDENCE_FILE
        with readable(file):
            yield file

    def _records(self, batch: pa.RecordBatch) -> list[Annotation]:
        with readable(self.folder / EVIDENCE_FILE):
            return super()._records(batch)


def _listed(manifest: Manifest) -> set[str]:
    return {file.path for file in manifest.files}


def _rows(kind: type[Row], folder: Path, name: str) -> Rows[Row]:
    file = folder / f"{name}.parquet"
    table = read_table(file)
    with readable(file):
        return Rows(kind, table)


def _fingerprint(folder: Path, manifest: Manifest, benchmark: Benchmark) -> str:
    """Return the fingerprint of what was read; a record that is none names its file."""
    unlisted = "" if manifest.undecided_listed else manifest.undecided_digest
    with readable(folder / MANIFEST):
        try:
            return benchmark_fingerprint(benchmark, unlisted)
        except ValueError:
            for name in (*_REQUIRED, "undecided"):
                with readable(folder / f"{name}.parquet"):
                    deque(getattr(benchmark, name), maxlen=0)
            raise
