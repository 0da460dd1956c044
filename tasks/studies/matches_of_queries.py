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
        numbers = {
            "1 match" if number == 1 else f"{number} matches": counts.get(number, 0)
            for number in range(max(counts, default=0) + 1)
        }
        return [
            *(Figure(row=row, column="queries", value=number) for row, number in numbers.items()),
            *(
                Figure(row=row, column="share", value=number / total if total else None, n=total)
                for row, number in numbers.items()
            ),
        ]
