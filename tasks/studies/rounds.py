"""Agreement between rounds of labelling, as the first version measures it."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("rounds")
class Rounds(Study):
    """Agreement between rounds."""

    title: ClassVar[str] = "Agreement between rounds of labelling"
    reading: ClassVar[str] = (
        "Krippendorff's alpha, nominal, of the labels of one round and of the next."
    )
    command: ClassVar[str] = "cosqa annotate with several rounds, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = ("source", "queries", "top k", "model", "configuration")

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the alpha of each two consecutive rounds."""
        return [
            Figure(
                row=f"rounds {number} and {number + 1}", column="Krippendorff's alpha", value=alpha
            )
            for number, alpha in enumerate(have(evidence.rounds), 1)
        ]
