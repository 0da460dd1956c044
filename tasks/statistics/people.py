"""Several people's labels of the same items: majority, conflicts and agreement."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np

from infra.identity import PairKey
from infra.records import GivenVote, Record
from tasks.statistics import Values
from tasks.statistics.agreement import cohen_kappa, krippendorff_alpha
from tasks.statistics.intervals import Interval, bootstrap_of

Label = TypeVar("Label", bound=float)
# Annotator → pair → grade.
Grades = dict[str, dict[tuple[str, str], int]]


def blind_grades(votes: Sequence[GivenVote]) -> Grades:
    """Return the grades that people gave before they saw evidence, undecided pairs left out."""
    grades: Grades = {}
    for vote in votes:
        if vote.phase == "blind" and vote.relevance is not None:
            grades.setdefault(vote.annotator, {})[vote.key] = int(vote.relevance)
    return grades


def conflicts(votes: Sequence[GivenVote]) -> set[PairKey]:
    """Return the pairs that two people or more judged blind, of whom no half and more agrees.

    An undecided vote agrees with nobody.
    """
    given: dict[PairKey, list[float | None]] = {}
    for vote in votes:
        if vote.phase == "blind":
            given.setdefault(vote.key, []).append(vote.relevance)
    return {key for key, labels in given.items() if len(labels) > 1 and majority(labels) is None}


def majority(labels: Sequence[Label | None]) -> Label | None:
    """Return the label of more than half of all votes, None where there is none.

    Args:
        labels: Of each vote; None of one that is undecided, which counts among all.
    """
    given = [label for label in labels if label is not None]
    return next((label for label in set(given) if 2 * given.count(label) > len(labels)), None)


class PairOfAnnotators(Record):
    """Agreement of two annotators on the pairs that both graded.

    ``kappa`` is Cohen's with squared weights and its 95% bootstrap interval over pairs; NaN where
    grades do not vary.
    """

    first: str
    second: str
    pairs: int
    equal: float
    kappa: Interval


class Agreement(Record):
    """The agreement of annotators.

    Attributes:
        annotators: Their names.
        pairs: Pairs of query and code that at least two of them graded.
        alpha: Krippendorff's, nominal where there are two grades, else ordinal, with its 95%
            bootstrap interval over pairs.
        each_two: Every two annotators who share a pair.
    """

    annotators: tuple[str, ...]
    pairs: int
    alpha: Interval
    each_two: tuple[PairOfAnnotators, ...]


def agreement(grades: Grades, highest: int = 1) -> Agreement:
    """Return the agreement of annotators whose grades are of 0 to ``highest``."""
    names = sorted(grades)
    ratings = _ratings(grades, names)
    level: Literal["nominal", "ordinal"] = "nominal" if highest == 1 else "ordinal"
    two = [_compare(grades, first, second, highest) for first, second in combinations(names, 2)]
    return Agreement(
        annotators=tuple(names),
        pairs=int(((~np.isnan(ratings)).sum(axis=0) > 1).sum()),
        alpha=bootstrap_of(
            lambda drawn: krippendorff_alpha(ratings[:, drawn], level), ratings.shape[1]
        ),
        each_two=tuple(pair for pair in two if pair.pairs),
    )


def _ratings(grades: Grades, names: list[str]) -> Values:
    pairs = sorted({pair for of_annotator in grades.values() for pair in of_annotator})
    rows = [[grades[name].get(pair, np.nan) for pair in pairs] for name in names]
    return np.array(rows, np.float64).reshape(len(names), len(pairs))


def _compare(grades: Grades, first: str, second: str, highest: int) -> PairOfAnnotators:
    shared = sorted(grades[first].keys() & grades[second].keys())
    ours, theirs = (
        np.array([grades[name][pair] for pair in shared], np.int64) for name in (first, second)
    )
    scale = range(highest + 1)
    return PairOfAnnotators(
        first=first,
        second=second,
        pairs=len(shared),
        equal=float((ours == theirs).sum() / max(len(shared), 1)),
        kappa=bootstrap_of(
            lambda drawn: cohen_kappa(ours[drawn].tolist(), theirs[drawn].tolist(), scale),
            len(shared),
        ),
    )
