"""Table I: how much of the ensemble's candidates each encoder alone would have found."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("overlap")
class Overlap(Study):
    """Overlap of single encoders with the ensemble."""

    title: ClassVar[str] = "Overlap of a single encoder's candidates with the ensemble's"
    reading: ClassVar[str] = (
        "For each query the codes that are in the encoder's own top k and in the ensemble's, "
        "divided by k; the mean over queries. Both searches are exact, over all codes."
    )
    command: ClassVar[str] = "cosqa collect, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = ("source", "queries", "codes", "encoders", "top k")

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the mean overlap of each encoder; of a lone one it is 1."""
        overlaps = have(evidence.overlaps)
        note = "the only encoder" if len(overlaps) == 1 else ""
        return [
            Figure(row=encoder, column="overlap", value=mean.value, n=mean.n, note=note)
            for encoder, mean in overlaps.items()
        ]
