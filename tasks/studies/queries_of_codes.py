"""Figure 7: how many queries a code answers."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies

_MOST = 10


@studies.register("queries-of-codes")
class QueriesOfCodes(Study):
    """Codes by the number of queries that they answer."""

    title: ClassVar[str] = "Queries of a code"
    reading: ClassVar[str] = (
        "Codes that answer at least one query, by the number of queries that they answer, and the "
        "share of those that answer two or more. The paper prints a histogram without values "
        "(Figure 7)."
    )
    command: ClassVar[str] = "cosqa publish, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = (
        "source", "queries", "codes", "encoders", "top k", "model", "configuration",
    )  # fmt: skip
    chart: ClassVar[tuple[str, ...]] = ("codes",)

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the codes by number of queries, those of ten or more together, and the share."""
        counts = have(evidence.benchmark).queries_of_codes
        total = sum(counts.values())
        highest = max(counts, default=0)
        bars = {
            "1 query" if number == 1 else f"{number} queries": counts.get(number, 0)
            for number in range(1, min(highest + 1, _MOST))
        }
        if highest >= _MOST:
            bars[f"{_MOST}+ queries"] = sum(n for number, n in counts.items() if number >= _MOST)
        several = total - counts.get(1, 0)
        return [
            *(Figure(row=row, column="codes", value=number) for row, number in bars.items()),
            Figure(
                row="2+ queries", column="share", value=several / total if total else None, n=total
            ),
        ]
