"""Written answers to queries without a match, and the evidence of labels, in a benchmark."""

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from infra.identity import PairKey
from infra.records import Code, Label
from infra.store import Database, generated
from infra.store.evidence import EvidenceSelection, count_evidence, read_evidence
from tasks.benchmarks import AnnotationStream, Benchmark, columns_of
from tasks.benchmarks.rows import EVIDENCE

Which = Literal["none", "confirmed", "verified"]


class StoredAnnotations(AnnotationStream):
    """Annotations of the store, each time read from there.

    Args:
        database: The store.
        selection: Which annotations.
        codes: Ids of the only codes whose annotations are wanted; all if not given.
    """

    def __init__(
        self, database: Database, selection: EvidenceSelection, codes: pa.Array | None = None
    ) -> None:
        self._database = database
        self.selection = selection
        self._codes = codes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the annotations, which are read in parts; other processes write in between."""
        for batch in read_evidence(self._database, self.selection, self._codes):
            yield batch.select(EVIDENCE.names).cast(EVIDENCE)

    def filter_codes(self, codes: pa.Array) -> "StoredAnnotations":
        """Return the annotations of some codes alone; others are not read."""
        if self._codes is not None:
            codes = codes.filter(pc.is_in(codes, value_set=self._codes))
        return StoredAnnotations(self._database, self.selection, codes)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return count_evidence(self._database, self.selection, self._codes)


def with_stored_answers(
    database: Database,
    benchmark: Benchmark,
    collection: str,
    supporting_annotations: pa.Table,
    which: Which,
) -> Benchmark:
    """Return a benchmark with written answers to its queries, and with all evidence.

    Each answer is a code and a pair of label 1. One that a person refused takes no part, nor does a
    pair that is judged without it. An answer stays when its query gets a match later: a published
    pair is not taken back. Taken are none, those that people confirmed, or all that the agents
    verified (``which``).
    """
    columns = columns_of(benchmark)
    queries = set(columns.queries.column("query_id").to_pylist())
    judged = {
        PairKey(*pair)
        for rows in (columns.labels, columns.undecided)
        for pair in zip(
            rows.column("query_id").to_pylist(), rows.column("code_id").to_pylist(), strict=True
        )
    }
    answers = [
        item
        for item in generated.load_answers(database, collection)
        if item.query_id in queries
        and not item.is_refused
        and (which == "verified" or (which == "confirmed" and item.confirmed))
        and PairKey(item.query_id, item.code_id) not in judged
    ]
    known = set(columns.codes.column("code_id").to_pylist())
    codes = {
        item.code_id: Code(code_id=item.code_id, text=item.code, origin=item.origin)
        for item in answers
        if item.code_id not in known
    }
    pairs = {
        PairKey(item.query_id, item.code_id): Label(
            query_id=item.query_id, code_id=item.code_id, origin=item.origin, relevance=1.0
        )
        for item in answers
    }
    keys = ((item.query_id, item.code_id, item.recipe_id) for item in answers)
    verified = tuple(dict.fromkeys(keys))
    return benchmark.model_copy(
        update={
            "codes": columns.codes.joined(codes.values()),
            "labels": columns.labels.joined(pairs.values()),
            "evidence": StoredAnnotations(
                database, EvidenceSelection(supporting_annotations, verified)
            ),
        }
    )
