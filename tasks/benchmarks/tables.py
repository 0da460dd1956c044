"""The Parquet files of an export: one row a record, sorted by id."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.benchmarks.benchmark import Benchmark, columns_of
from tasks.benchmarks.evidence import EVIDENCE_FILE, AnnotationStream
from tasks.benchmarks.schemas import (
    CODES,
    EVIDENCE,
    LABELS,
    QUERIES,
    ROUNDS,
    SPECIFICATIONS,
    SPLITS,
    UNDECIDED,
)

_ROWS = 131_072  # of a row group
_ANNOTATIONS = 16_384  # of a row group of evidence, some 50 MB


def write_tables(benchmark: Benchmark, folder: Path, *, include_undecided: bool) -> None:
    """Write queries, codes and labels, and each of the other tables that has rows."""
    columns = columns_of(benchmark)
    _write(folder / "queries.parquet", columns.queries.ordered().table, QUERIES)
    _write(folder / "codes.parquet", columns.codes.ordered().table, CODES)
    _write(folder / "labels.parquet", columns.labels.ordered().table, LABELS)
    if include_undecided:
        _write(folder / "undecided.parquet", columns.undecided.ordered().table, UNDECIDED)
    if benchmark.splits:
        parts = sorted(benchmark.splits.items())
        rows = [{"query_id": query, "split": part} for query, part in parts]
        _write(folder / "splits.parquet", pa.Table.from_pylist(rows, schema=SPLITS), SPLITS)
    if benchmark.specifications:
        texts = columns.specifications.ordered().table
        _write(folder / "specifications.parquet", texts, SPECIFICATIONS)
    if benchmark.evidence:
        _write_evidence(benchmark, folder)


def _write_evidence(benchmark: Benchmark, folder: Path) -> None:
    """Write the evidence in one pass, and what each of several labelling rounds said."""
    judged = []
    with pq.ParquetWriter(folder / EVIDENCE_FILE, EVIDENCE, compression="zstd") as file:
        for group in _row_groups(benchmark.evidence):
            file.write_table(group, row_group_size=_ANNOTATIONS)
            if benchmark.rounds:
                by_round = group.rename_columns({"replicate": "round"})
                judged.append(by_round.select(ROUNDS.names))
    if benchmark.rounds:
        _write(folder / "rounds.parquet", pa.concat_tables(judged), ROUNDS)


def _row_groups(evidence: AnnotationStream) -> Iterator[pa.Table]:
    """Yield tables of `_ANNOTATIONS` rows, so that the same evidence gives the same bytes."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in evidence.batches():
        waiting.append(batch)
        rows += batch.num_rows
        while rows >= _ANNOTATIONS:
            whole = pa.Table.from_batches(waiting)
            yield whole.slice(0, _ANNOTATIONS)
            waiting, rows = whole.slice(_ANNOTATIONS).to_batches(), rows - _ANNOTATIONS
    if rows:
        yield pa.Table.from_batches(waiting)


def _write(file: Path, table: pa.Table, schema: pa.Schema) -> None:
    chosen = table.select(schema.names).cast(schema)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for start in range(0, chosen.num_rows, _ROWS):
            writer.write_table(chosen.slice(start, _ROWS).combine_chunks(), row_group_size=_ROWS)
