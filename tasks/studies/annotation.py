"""Figures of how candidates are found and labelled: by encoders, agents and people."""

from collections.abc import Iterator, Sequence

from infra.summaries import PairCost
from tasks.studies import Evidence, Figure, have, studies


@studies.register("overlap")
def overlap(evidence: Evidence) -> Sequence[Figure]:
    """Return the mean overlap of each encoder; of a lone one it is 1."""
    overlaps = have(evidence.overlaps)
    note = "the only encoder" if len(overlaps) == 1 else ""
    return [
        Figure(row=encoder, column="overlap", value=mean.value, n=mean.n, note=note)
        for encoder, mean in overlaps.items()
    ]


@studies.register("matches-by-rank")
def matches_by_rank(evidence: Evidence) -> Sequence[Figure]:
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


_MISSING = "missing: the agents have labelled none of these pairs"


@studies.register("mismatched-pairs")
def mismatched_pairs(evidence: Evidence) -> Sequence[Figure]:
    """Return the share by each who labelled them."""
    by = have(evidence.mismatches)
    rows = [Figure(row=who, column="share", **share.model_dump()) for who, share in by.items()]
    missing = Figure(row="agents", column="share", value=None, note=_MISSING)
    return rows if "agents" in by else [*rows, missing]


@studies.register("rounds")
def rounds(evidence: Evidence) -> Sequence[Figure]:
    """Return the alpha of each two consecutive rounds."""
    return [
        Figure(row=f"rounds {number} and {number + 1}", column="Krippendorff's alpha", value=alpha)
        for number, alpha in enumerate(have(evidence.rounds), 1)
    ]


@studies.register("cost")
def cost_of_pairs(evidence: Evidence) -> Sequence[Figure]:
    """Return number, share, seconds and dollars of the pairs of each kind."""
    costs = have(evidence.costs)
    decided = sum(cost.pairs for kind, cost in costs.items() if kind != "all")
    return [figure for kind, cost in costs.items() for figure in _of(kind, cost, decided)]


def _of(kind: str, cost: PairCost, decided: int) -> Iterator[Figure]:
    yield Figure(row=kind, column="pairs", value=cost.pairs)
    if kind != "all":
        share = cost.pairs / decided if decided else None
        yield Figure(row=kind, column="share of pairs", value=share, n=decided)
    if cost.pairs:
        mean = cost.seconds / cost.pairs
        yield Figure(row=kind, column="seconds of a pair", value=mean, n=cost.pairs)
        dollars = None if cost.dollars is None else cost.dollars / cost.pairs
        note = "the cost of a call is unknown" if dollars is None else ""
        yield Figure(row=kind, column="dollars of a pair", value=dollars, n=cost.pairs, note=note)
        yield Figure(row=kind, column="dollars", value=cost.dollars, n=cost.pairs, note=note)


@studies.register("people")
def people(evidence: Evidence) -> Sequence[Figure]:
    """Return the share of preferences and the minutes, each where people gave any."""
    told = have(evidence.people)
    figures = []
    if told.preferences:
        share = told.preferred / told.preferences
        figures.append(Figure(row="preference", column="share", value=share, n=told.preferences))
    for row, minutes, timed in (
        ("expert", told.minutes_without_program, told.timed_without_program),
        ("expert with test program", told.minutes_with_program, told.timed_with_program),
    ):
        if minutes is not None:
            figures.append(Figure(row=row, column="minutes of a pair", value=minutes, n=timed))
    return figures
