"""Figure 4: the probability that a candidate matches, by its rank."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("matches-by-rank")
class MatchesByRank(Study):
    """Share of matches by the rank of the candidate."""

    title: ClassVar[str] = "Share of matches by candidate rank"
    reading: ClassVar[str] = (
        "Of the labelled candidates of each rank the share that matches, over the queries that "
        "--limit draws at random. The paper prints a curve without values (Figure 4, 2,000 "
        "queries): it falls with the rank, and beyond 20 the gain is small."
    )
    command: ClassVar[str] = "cosqa annotate --limit 2000, then cosqa study --limit 2000"
    chart: ClassVar[tuple[str, ...]] = ("share",)

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the share of matches of each rank; None where nothing is labelled."""
        return [
            Figure(
                row=f"rank {facts.rank}",
                column="share",
                value=facts.matches / facts.labelled if facts.labelled else None,
                n=facts.labelled,
            )
            for facts in have(evidence.ranks)
        ]
