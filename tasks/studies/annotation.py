"""Figures of how candidates are found and labelled: by encoders, agents and people."""

from collections.abc import Iterator, Sequence

from infra.summaries import PairCost
from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("overlap")
class Overlap(Study):
    """Overlap of single encoders with the ensemble."""

    title = "Overlap of a single encoder's candidates with the ensemble's"
    reading = (
        "For each query the codes that are in the encoder's own top k and in the ensemble's, "
        "divided by k; the mean over queries. Both searches are exact, over all codes."
    )
    command = "cosqa collect, then cosqa study"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the mean overlap of each encoder; of a lone one it is 1."""
        overlaps = have(evidence.overlaps)
        note = "the only encoder" if len(overlaps) == 1 else ""
        return [
            Figure(row=encoder, column="overlap", value=mean.value, n=mean.n, note=note)
            for encoder, mean in overlaps.items()
        ]


@studies.register("matches-by-rank")
class MatchesByRank(Study):
    """Share of matches by the rank of the candidate."""

    title = "Share of matches by candidate rank"
    reading = (
        "Of the labelled candidates of each rank the share that matches, over the queries that "
        "--limit draws at random. The paper prints a curve without values (Figure 4, 2,000 "
        "queries): it falls with the rank, and beyond 20 the gain is small."
    )
    command = "cosqa annotate --limit 2000, then cosqa study --limit 2000"

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


_MISSING = "missing: the agents have labelled none of these pairs"


@studies.register("mismatched-pairs")
class MismatchedPairs(Study):
    """CoSQA's pairs without a match."""

    title = "CoSQA's own pairs that do not match"
    reading = (
        "Share of the pairs of cosqa-*.json that are labelled 0: by CoSQA's annotators, and by the "
        "agents' labels that stand, over the pairs that are among the judged candidates. The paper "
        "says it of queries under its strict guideline, and not how many were looked at."
    )
    command = "cosqa benchmark --source cosqa --path FOLDER, then cosqa study"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the share by each who labelled them."""
        by = have(evidence.mismatches)
        rows = [Figure(row=who, column="share", **share.model_dump()) for who, share in by.items()]
        missing = Figure(row="agents", column="share", value=None, note=_MISSING)
        return rows if "agents" in by else [*rows, missing]


@studies.register("rounds")
class Rounds(Study):
    """Agreement between rounds."""

    title = "Agreement between rounds of labelling"
    reading = "Krippendorff's alpha, nominal, of the labels of one round and of the next."
    command = "cosqa annotate --set annotation.rounds=3, then cosqa study"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the alpha of each two consecutive rounds."""
        return [
            Figure(
                row=f"rounds {number} and {number + 1}", column="Krippendorff's alpha", value=alpha
            )
            for number, alpha in enumerate(have(evidence.rounds), 1)
        ]


@studies.register("cost")
class CostOfPairs(Study):
    """Time and cost of a pair."""

    title = "Seconds and dollars of clear and unclear pairs"
    reading = (
        "A pair is clear if the screener labels it and unclear if it goes on to a test program or "
        "the arbiter; a pair by claims gave, or did not give, what its query's specification "
        "demands. All includes pairs that are none of these, judged by reading alone or left "
        "undecided. Time is that of the whole judgement, installations and gates too, or that of "
        "models and runs where replies from the cache took less; cost is that of all calls, as if "
        "none came from the cache. Pairs of a query share what its specification took. A cost is "
        "unknown if that of one call is."
    )
    command = "cosqa annotate, then cosqa study"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
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
class People(Study):
    """Preferences and minutes of people."""

    title = "People: preferences between two codes, and minutes for a pair"
    reading = (
        "Preference: share of all choices between two codes of a query that fall on the "
        "benchmark's. Minutes: means over blind labels whose time was told, without and with a "
        "test program."
    )
    command = "cosqa label preference and cosqa label sample, cosqa label read, then cosqa study"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the share of preferences and the minutes, each where people gave any."""
        people = have(evidence.people)
        figures = []
        if people.preferences:
            share = people.preferred / people.preferences
            figures.append(
                Figure(row="preference", column="share", value=share, n=people.preferences)
            )
        for row, minutes, timed in (
            ("expert", people.minutes_without_program, people.timed_without_program),
            (
                "expert with test program",
                people.minutes_with_program,
                people.timed_with_program,
            ),
        ):
            if minutes is not None:
                figures.append(Figure(row=row, column="minutes of a pair", value=minutes, n=timed))
        return figures
