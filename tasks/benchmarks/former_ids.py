"""Exports of earlier releases beside those of this one: the same texts, by shorter ids.

An export keeps its ids for ever: its fingerprint, its runs and its scores name them. Where two
exports are compared, those of earlier releases get the ids that their texts have in this one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from infra.identity import MARK_DIGITS, former_id
from infra.records import Annotation, Code, Label, Query, code_id_of, query_id_of
from tasks.benchmarks.benchmark import Benchmark, columns_of
from tasks.benchmarks.evidence import AnnotationStream
from tasks.benchmarks.reader import read_exported
from tasks.benchmarks.rows import Rows, Undecided

_KINDS = {"query_id": query_id_of, "code_id": code_id_of}


def full_ids(benchmark: Benchmark) -> dict[str, str]:
    """Return id by an earlier release → id of the same text; empty where there is none."""
    columns = columns_of(benchmark)
    return _full_ids(columns.queries.table) | _full_ids(columns.codes.table)


def with_full_ids(benchmark: Benchmark) -> Benchmark:
    """Return a benchmark of an earlier release with the ids of this one; another as it is."""
    full = full_ids(benchmark)
    if not full:
        return benchmark
    columns = columns_of(benchmark)
    return benchmark.model_copy(
        update={
            "queries": Rows(Query, _lifted(columns.queries.table, full)),
            "codes": Rows(Code, _lifted(columns.codes.table, full)),
            "labels": Rows(Label, _lifted(columns.labels.table, full)),
            "undecided": Rows(Undecided, _lifted(columns.undecided.table, full)),
            "splits": {full.get(query, query): part for query, part in benchmark.splits.items()},
            "evidence": _Lifted(benchmark.evidence, full),
        }
    )


def read_labels(folder: Path, columns: list[str]) -> pa.Table:
    """Return columns of an export's labels, with the ids that its texts have in this release.

    Raises:
        PublishError: The folder is no export, or a table is missing, changed, or none.
    """
    labels = read_exported(folder, "labels", columns)
    if not any(_may_be_former(labels[name]) for name in _KINDS):
        return labels
    queries = read_exported(folder, "queries", ["query_id", "text"])
    codes = read_exported(folder, "codes", ["code_id", "text"])
    return _lifted(labels, _full_ids(queries) | _full_ids(codes))


@dataclass(frozen=True)
class _Lifted(AnnotationStream):
    """Evidence with other ids of queries and codes."""

    whole: AnnotationStream
    full: Mapping[str, str]

    def batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self.whole.batches():
            yield from _lifted(pa.Table.from_batches([batch]), self.full).to_batches()

    def _records(self, batch: pa.RecordBatch) -> list[Annotation]:
        return self.whole._records(batch)  # noqa: SLF001 - of its own class

    def __len__(self) -> int:
        return len(self.whole)

    @property
    def demo(self) -> bool:
        return self.whole.demo


def _may_be_former(ids: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.equal(pc.binary_length(ids), 1 + MARK_DIGITS)).as_py())


def _full_ids(table: pa.Table) -> dict[str, str]:
    """Return former id → id of the texts in a table of queries or codes."""
    [name] = _KINDS.keys() & set(table.column_names)
    if not _may_be_former(table[name]):
        return {}
    found = {}
    for batch in table.select([name, "text"]).to_batches():
        for identity, text in zip(batch[name].to_pylist(), batch["text"].to_pylist(), strict=True):
            full = _KINDS[name](text)
            if identity == former_id(full):
                found[identity] = full
    return found


def _lifted(table: pa.Table, full: Mapping[str, str]) -> pa.Table:
    for name in _KINDS.keys() & set(table.column_names):
        ids = pa.array([full.get(item, item) for item in table[name].to_pylist()], pa.string())
        table = table.set_column(table.column_names.index(name), table.schema.field(name), ids)
    return table
