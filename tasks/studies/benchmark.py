"""Figures of the collection and of the published benchmark: sizes, matches, methods on it.

Scores by the number of matches, and their consistency, are Tables 6 to 8 of the first version.
"""

from collections.abc import Sequence
from math import isnan

import numpy as np

from infra.errors import StudyError
from tasks.corpus import written
from tasks.corpus.documentation_pairs import AMBIGUOUS, NOT_DRAWN
from tasks.corpus.functions import OF_FILES
from tasks.corpus.merging import (
    CONFLICT,
    LABEL_ELSEWHERE,
    LABEL_OF_DROPPED,
    REPEATED_LABEL,
    REPEATED_QUERY,
)
from tasks.filters.technical_keywords import KEYWORD
from tasks.sources import commits
from tasks.sources.codesearchnet import NO_QUERY
from tasks.statistics.agreement import average_variance, cronbach_alpha
from tasks.studies import Evidence, Figure, Missing, have, studies

_OF_QUERIES = {
    REPEATED_QUERY, NO_QUERY, AMBIGUOUS, NOT_DRAWN, KEYWORD,
    commits.NO_FUNCTION, commits.MANY, commits.UNFIT, commits.NAMED,
    written.UNREAD, written.UNFIT, written.ABOUT, written.NAMED, written.REPEATED, written.GENERAL,
}  # fmt: skip
_OF_LABELS = {CONFLICT, REPEATED_LABEL, LABEL_OF_DROPPED, LABEL_ELSEWHERE}
_OF_OTHERS = _OF_QUERIES | _OF_LABELS | OF_FILES  # than functions


@studies.register("corpus")
def corpus(evidence: Evidence) -> Sequence[Figure]:
    """Return the number of queries, of functions read and kept, and of each reason to drop.

    Functions by language, with and without documentation, have columns of their own, as in the
    table of CodeSearchNet's corpus (arXiv 1909.09436).
    """
    facts = evidence.collection
    left_out = (number for rule, number in facts.dropped.items() if rule not in _OF_OTHERS)
    items = {
        "queries": facts.queries,
        "functions read": facts.codes + sum(left_out),
        "functions kept": facts.codes,
        **{f"dropped: {rule}": number for rule, number in facts.dropped.items()},
    }
    figures = [Figure(row=row, column="items", value=number) for row, number in items.items()]
    documented, others = map(sum, zip((0, 0), *facts.documented.values(), strict=True))
    counts = facts.documented | {"all languages": (documented, others)}
    return figures + [
        Figure(row=f"functions in {language}", column=column, value=number)
        for language, (documented, others) in counts.items()
        for column, number in (("with documentation", documented), ("all", documented + others))
    ]


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
    programs = evidence.programs
    rows = ("mean test cases of a program", "share of programs that run")
    if isinstance(programs, Missing):
        reason = programs.reason
        figures += [Figure(row=row, column="benchmark", value=None, note=reason) for row in rows]
        return figures
    values = (programs.tests / programs.programs, programs.executed / programs.programs)
    figures += [
        Figure(row=row, column="benchmark", value=value, n=programs.programs)
        for row, value in zip(rows, values, strict=True)
    ]
    return figures


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


GROUPS = (2, 3, 4, 5)
BY_MATCHES = ("MRR", "MAP", "MMRR")


@studies.register("matches-and-scores")
def matches_and_scores(evidence: Evidence) -> Sequence[Figure]:
    """Return the methods' means in each group, and each metric's alpha and variances."""
    scores = have(evidence.group_scores)
    figures = [
        Figure(row=method, column=f"{metric}, {group} matches", value=mean.value, n=mean.n)
        for method, by_metric in scores.items()
        for metric in BY_MATCHES
        for group, mean in by_metric.get(metric, {}).items()
        if group in GROUPS
    ]
    if not figures:
        raise StudyError("no scored query of the benchmark has 2, 3, 4 or 5 matches")
    for metric in BY_MATCHES:
        # Alpha and variances are over the methods that have all four groups, at least two.
        groups = [by_metric.get(metric, {}) for by_metric in scores.values()]
        table = np.array(
            [[row[group].value for group in GROUPS] for row in groups if set(GROUPS) <= set(row)]
        )
        if len(table) < 2:
            continue
        alpha = cronbach_alpha(table.T)
        figures.append(
            Figure(
                row="Cronbach's alpha",
                column=metric,
                value=None if isnan(alpha) else alpha,
                n=len(table),
                note="without variation alpha is not defined" if isnan(alpha) else "",
            )
        )
        variances = (
            ("sample", average_variance(table)),
            ("population", average_variance(table, ddof=0)),
        )
        figures += [
            Figure(row=f"variance, {name}", column=metric, value=value, n=len(table))
            for name, value in variances
        ]
    return figures
