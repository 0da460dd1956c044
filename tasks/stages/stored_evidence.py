"""Evidence of the agents' labels in the store, read as a stream."""

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa

from infra.store import Database, evidence
from infra.store.evidence import EvidenceSelection
from tasks.benchmarks import AnnotationStream
from tasks.benchmarks.schemas import EVIDENCE


class StoredAnnotations(AnnotationStream):
    """Annotations of the store, each time read from there.

    Args:
        database: The store.
        selection: Which annotations.
    """

    def __init__(self, database: Database, selection: EvidenceSelection) -> None:
        self._database = database
        self.selection = selection

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the annotations; other processes cannot use the store until the last is read."""
        for batch in evidence.read_evidence(self._database, self.selection):
            yield batch.select(EVIDENCE.names).cast(EVIDENCE)

    def __len__(self) -> int:
        return self._count[0]

    @property
    def demo(self) -> bool:
        """Whether one comes from the embedded demo model."""
        return self._count[1]

    @cached_property
    def _count(self) -> tuple[int, bool]:
        return evidence.count_evidence(self._database, self.selection)
