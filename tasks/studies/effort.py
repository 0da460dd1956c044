"""What an annotation takes: seconds and dollars of clear and of unclear pairs."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from infra.summaries import PairEffort
from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("effort")
class EffortOfPairs(Study):
    """Time and cost of a pair."""

    title: ClassVar[str] = "Seconds and dollars of clear and unclear pairs"
    reading: ClassVar[str] = (
        "A pair is clear if the screener labels it and unclear if it goes on to a test program or "
        "the arbiter; a pair by claims gave, or did not give, what its query's specification "
        "demands. All includes pairs that are none of these, judged by reading alone or left "
        "undecided. Time is that of the whole judgement, installations and gates too, or that of "
        "models and runs where replies from the cache took less; cost is that of all calls, as if "
        "none came from the cache. Pairs of a query share what its specification took. A cost is "
        "unknown if that of one call is."
    )
    command: ClassVar[str] = "cosqa annotate, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = (
        "source", "queries", "top k", "model", "configuration",
    )  # fmt: skip

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return number, share, seconds and dollars of the pairs of each kind."""
        efforts = have(evidence.efforts)
        decided = sum(effort.pairs for kind, effort in efforts.items() if kind != "all")
        return [figure for kind, effort in efforts.items() for figure in _of(kind, effort, decided)]


def _of(kind: str, effort: PairEffort, decided: int) -> Iterator[Figure]:
    yield Figure(row=kind, column="pairs", value=effort.pairs)
    if kind != "all":
        share = effort.pairs / decided if decided else None
        yield Figure(row=kind, column="share of pairs", value=share, n=decided)
    if effort.pairs:
        mean = effort.seconds / effort.pairs
        yield Figure(row=kind, column="seconds of a pair", value=mean, n=effort.pairs)
        dollars = None if effort.dollars is None else effort.dollars / effort.pairs
        note = "the cost of a call is unknown" if dollars is None else ""
        yield Figure(row=kind, column="dollars of a pair", value=dollars, n=effort.pairs, note=note)
        yield Figure(row=kind, column="dollars", value=effort.dollars, n=effort.pairs, note=note)
