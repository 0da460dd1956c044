"""Evidence of the agents' labels in the store, read as a stream."""

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from infra.store import Database, evidence
from infra.store.evidence import EvidenceSelection
from tasks.benchmarks import AnnotationStream
from tasks.benchmarks.schemas import EVIDENCE


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
        for batch in evidence.read_evidence(self._database, self.selection, self._codes):
            yield batch.select(EVIDENCE.names).cast(EVIDENCE)

    def of_codes(self, codes: pa.Array) -> "StoredAnnotations":
        """Return the annotations of some codes alone; those of others are not read."""
        if self._codes is not None:
            codes = codes.filter(pc.is_in(codes, value_set=self._codes))
        return StoredAnnotations(self._database, self.selection, codes)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return evidence.count_evidence(self._database, self.selection, self._codes)
