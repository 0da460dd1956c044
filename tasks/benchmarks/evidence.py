"""Evidence of the agents' labels, read as a stream: it does not fit in memory for long.

412,080 annotations with their calls and executions are 10 GB as records. They stay Arrow batches in
the columns of `EVIDENCE`, ascending by query and code, from the store into a file and from a file;
records are made for those that somebody looks at.
"""

import json
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from infra.records import Annotation, Execution, ExecutionResult, Record
from tasks.benchmarks.rows import EVIDENCE, NESTED, PAIR

EVIDENCE_FILE = "evidence.parquet"
_BATCH = 1_024  # annotations


class AnnotationStream(ABC):
    """The agents' annotations with every call and execution, ascending by query and code."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the annotations in the columns of `EVIDENCE`."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of annotations."""

    def __iter__(self) -> Iterator[Annotation]:
        for batch in self.batches():
            yield from self._records(batch)

    def _records(self, batch: pa.RecordBatch) -> list[Annotation]:
        """Return the annotations of a batch as records."""
        annotations = []
        for row in batch.to_pylist():
            runs = row["executions"]
            executions = [_execution(run) for run in runs] if isinstance(runs, list) else []
            annotations.append(Annotation.model_validate({**row, "executions": executions}))
        return annotations

    def of_pairs(self, pairs: Iterable[tuple[str, str]]) -> list[Annotation]:
        """Return the annotations of some pairs (query, code); others are not made records."""
        wanted = set(pairs)
        queries = pa.array(sorted({query for query, _ in wanted}), pa.string())
        found = []
        for batch in self.batches() if wanted else ():
            some = batch.filter(pc.is_in(batch["query_id"], value_set=queries))
            keys = zip(some["query_id"].to_pylist(), some["code_id"].to_pylist(), strict=True)
            mask = pa.array([key in wanted for key in keys], pa.bool_())
            found += self._records(some.filter(mask))
        return found

    def filter_codes(self, codes: pa.Array) -> "AnnotationStream":
        """Return the annotations of some codes alone."""
        return _Selected(self, "code_id", codes)

    def of_queries(self, queries: pa.Array) -> "AnnotationStream":
        """Return the annotations of some queries alone."""
        return _Selected(self, "query_id", queries)

    def with_support(self, support: str) -> "AnnotationStream":
        """Return the annotations that rest on one kind of evidence alone."""
        return _Selected(self, "support", pa.array([support]))

    def replaced_by(self, others: Iterable[Annotation]) -> "AnnotationStream":
        """Return the annotations, in place of which others stand for the pairs of these."""
        return _Replaced(self, RecordedAnnotations(tuple(others)))

    def pairs_with_support(self, support: str) -> pa.Table:
        """Return the columns `PAIR` of the annotations that rest on one kind of evidence."""
        batches = (batch.select(PAIR.names) for batch in self.with_support(support).batches())
        return pa.Table.from_batches(batches, PAIR)


@dataclass(frozen=True)
class RecordedAnnotations(AnnotationStream):
    """Annotations that are in memory."""

    annotations: tuple[Annotation, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the annotations; those of one pair keep their order."""
        ordered = sorted(self.annotations, key=lambda item: (item.query_id, item.code_id))
        for start in range(0, len(ordered), _BATCH):
            yield _batch(ordered[start : start + _BATCH])

    def __len__(self) -> int:
        return len(self.annotations)


NO_ANNOTATIONS = RecordedAnnotations(())


@dataclass(frozen=True)
class ExportedAnnotations(AnnotationStream):
    """The evidence in an export's folder."""

    folder: Path

    @contextmanager
    def _opened(self) -> Iterator[Path]:
        """Give the path of the file while it is read."""
        yield self.folder / EVIDENCE_FILE

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the annotations of the file; fields that an older export lacks are empty."""
        with self._opened() as path, pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                yield batch if batch.schema.equals(EVIDENCE) else _batch(self._records(batch))

    def pairs_with_support(self, support: str) -> pa.Table:
        """Return the pairs as above; no other column of the file is read."""
        with self._opened() as path, pq.ParquetFile(path) as file:
            if "support" in file.schema_arrow.names:
                table = file.read([*PAIR.names, "support"])
                return table.filter(pc.equal(table["support"], support)).select(PAIR.names)
        return super().pairs_with_support(support)

    def __len__(self) -> int:
        with self._opened() as path:
            return int(pq.read_metadata(path).num_rows)


@dataclass(frozen=True)
class _Selected(AnnotationStream):
    """Evidence of some codes or queries, by the column of their ids."""

    whole: AnnotationStream
    column: str
    ids: pa.Array

    def batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self.whole.batches():
            yield batch.filter(pc.is_in(batch[self.column], value_set=self.ids))

    def _records(self, batch: pa.RecordBatch) -> list[Annotation]:
        return self.whole._records(batch)  # noqa: SLF001 - of its own class

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self.batches())


@dataclass(frozen=True)
class _Replaced(AnnotationStream):
    """Evidence in which that of some pairs is other evidence."""

    whole: AnnotationStream
    others: RecordedAnnotations

    def batches(self) -> Iterator[pa.RecordBatch]:
        new = pa.Table.from_batches(self.others.batches(), EVIDENCE)
        replaced, first = _keys(new), 0
        keys = replaced.to_pylist()
        for batch in self.whole.batches():
            of_batch = _keys(batch)
            kept = batch.filter(
                pc.invert(pc.is_in(of_batch, value_set=pa.array(keys, pa.string())))
            )
            last = bisect_right(keys, pc.max(of_batch).as_py() or "")
            both = pa.concat_tables([pa.Table.from_batches([kept]), new.slice(first, last - first)])
            yield from both.take(pc.sort_indices(_keys(both))).to_batches()
            first = last
        yield from new.slice(first).to_batches()

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self.batches())


def _keys(table: pa.Table | pa.RecordBatch) -> pa.Array | pa.ChunkedArray:
    """Return the ids of pairs as texts, which are in the pairs' order."""
    return pc.binary_join_element_wise(table["query_id"], table["code_id"], " ")


def _batch(annotations: Iterable[Annotation]) -> pa.RecordBatch:
    rows = []
    for annotation in annotations:
        executions = [
            run.model_dump(exclude={"result", "oracle", "repairs"})
            | run.result.model_dump(exclude={"tests"})
            | {"oracle": run.oracle and run.oracle.model_dump_json()}
            | {"tests": _json(run.result.tests), "repairs": _json(run.repairs)}
            for run in annotation.executions
        ]
        rows.append(annotation.model_dump() | {"executions": executions})
    return pa.RecordBatch.from_pylist(rows, schema=EVIDENCE)


def _json(records: Iterable[Record]) -> str:
    return json.dumps([record.model_dump() for record in records])


def _execution(row: Mapping[str, object]) -> dict[str, object]:
    nested = {name: json.loads(str(row.get(name) or "null")) for name in NESTED}
    outer = Execution.model_fields.keys() - {"result", "oracle", "repairs"}
    result = {key: row[key] for key in ExecutionResult.model_fields.keys() - {"tests"}}
    return {key: row.get(key, "") for key in outer} | {
        "result": result | {"tests": nested["tests"] or ()},
        "oracle": nested["oracle"],
        "repairs": nested["repairs"] or (),
    }
