"""Figures of the published benchmark: its size, its matches, methods on it."""

from collections.abc import Sequence

from tasks.studies import Evidence, Figure, Missing, Study, have, studies


@studies.register("size")
class Size(Study):
    """Size of the benchmark."""

    title = "Size of the benchmark and of its test programs"
    reading = (
        "Pairs are labelled ones, codes are those in them. A program's test cases are the test "
        "functions that the pair's last program defines; it ran if it came to its end or to a "
        "failing assertion."
    )
    command = "cosqa publish, then cosqa study"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
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
class MatchesOfQueries(Study):
    """Queries by their number of matches."""

    title = "Matches of a query"
    reading = (
        "Queries of the benchmark by the number of codes that are labelled relevant to them. The "
        "second version prints a histogram without values (Figure 3); the first counts the queries "
        "without a match."
    )
    command = "cosqa publish, then cosqa study"

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


_MOST = 10


@studies.register("queries-of-codes")
class QueriesOfCodes(Study):
    """Codes by the number of queries that they answer."""

    title = "Queries of a code"
    reading = (
        "Codes that answer at least one query, by the number of queries that they answer, and the "
        "share of those that answer two or more. The paper prints a histogram without values "
        "(Figure 7)."
    )
    command = "cosqa publish, then cosqa study"

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


METRICS = ("NDCG@10", "MRR@10", "MAP@10", "MAP-found@10", "Recall@10", "MMRR", "MRR")


@studies.register("retrieval")
class Retrieval(Study):
    """Scores of retrieval methods."""

    title = "Retrieval methods on the benchmark"
    reading = (
        "Means over the queries with a relevant code; unjudged codes are not relevant. For the "
        "second version all four metrics look at the first 10 results: the paper gives no cut for "
        "MRR, MAP and Recall, and the authors' script, which keeps 1,000 results, passes k = 10 to "
        "the functions that return them. Its MAP and Recall cannot be ours: MAP@10, divided by all "
        "relevant codes, is never above Recall@10, and is in all eight rows of the paper. "
        "MAP-found@10, divided by those among the first 10, can be. MMRR and MRR of the first "
        "version look at the whole ranking."
    )
    command = "cosqa publish, then cosqa study --method NAME"

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return each method's mean in each metric."""
        return [
            Figure(row=method, column=metric, value=means[metric].value, n=means[metric].n)
            for method, means in have(evidence.scores).items()
            for metric in METRICS
            if metric in means
        ]
