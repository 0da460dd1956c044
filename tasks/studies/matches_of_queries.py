"""Figure 3: how many matches queries have."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("matches-of-queries")
class MatchesOfQueries(Study):
    """Queries by their number of matches."""

    title: ClassVar[str] = "Matches of a query"
    reading: ClassVar[str] = (
        "Queries of the benchmark by the number of codes that are labelled relevant to them. The "
        "second version prints a histogram without values (Figure 3); the first counts the queries "
        "without a match."
    )
    command: ClassVar[str] = "cosqa publish, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = (
        "source", "queries", "codes", "encoders", "top k", "model", "configuration",
    )  # fmt: skip
    chart: ClassVar[tuple[str, ...]] = ("queries",)

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return for each number of matches the queries that have so many, and their share."""
        counts = have(evidence.benchmark).matches_of_queries
        total = sum(counts.values())
        rows = range(max(counts, default=0) + 1)
        numbers = {row: counts.get(row, 0) for row in rows}
        return [
            *(Figure(row=str(row), column="queries", value=n) for row, n in numbers.items()),
            *(
                Figure(row=str(row), column="share", value=n / total if total else None, n=total)
                for row, n in numbers.items()
            ),
        ]
