"""Figures of the published benchmark: its size, its matches, methods on it."""

from collections.abc import Sequence

from tasks.studies import Evidence, Figure, Missing, have, studies


@studies.register("size")
def size(evidence: Evidence) -> Sequence[Figure]:
    """Return counts and means over the labels, and over the programs where there are any."""
    facts = have(evidence.benchmark)
    figures = [
        Figure(row="pairs", column="benchmark", value=facts.pairs),
        Figure(row="codes", column="benchmark", value=facts.codes),
        Figure(
            row="mean characters of a code",
            column="benchmark",
            value=facts.mean_characters,
            n=facts.codes,
        ),
    ]
    return [*figures, *_of_programs(evidence)]


def _of_programs(evidence: Evidence) -> Sequence[Figure]:
    facts = evidence.programs
    rows = ("mean test cases of a program", "share of programs that run")
    if isinstance(facts, Missing):
        return [Figure(row=row, column="benchmark", value=None, note=facts.reason) for row in rows]
    values = (facts.tests / facts.programs, facts.executed / facts.programs)
    return [
        Figure(row=row, column="benchmark", value=value, n=facts.programs)
        for row, value in zip(rows, values, strict=True)
    ]


@studies.register("matches-of-queries")
def matches_of_queries(evidence: Evidence) -> Sequence[Figure]:
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


_MOST = 10


@studies.register("queries-of-codes")
def queries_of_codes(evidence: Evidence) -> Sequence[Figure]:
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
        Figure(row="2+ queries", column="share", value=several / total if total else None, n=total),
    ]


METRICS = ("NDCG@10", "MRR@10", "MAP@10", "MAP-found@10", "Recall@10", "MMRR", "MRR")


@studies.register("retrieval")
def retrieval(evidence: Evidence) -> Sequence[Figure]:
    """Return each method's mean in each metric."""
    return [
        Figure(row=method, column=metric, value=means[metric].value, n=means[metric].n)
        for method, means in have(evidence.scores).items()
        for metric in METRICS
        if metric in means
    ]
