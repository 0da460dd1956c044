"""Agreement of annotators beyond chance, their majorities, and the test of a judge in their place.

Consistency of a metric is measured here, too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeVar

import krippendorff
import numpy as np

from infra.identity import PairKey
from infra.records import GivenVote, Record
from tasks.statistics import Values
from tasks.statistics.intervals import Interval, bootstrap_of

Label = TypeVar("Label", bound=float)
# Annotator → pair → grade.
Grades = dict[str, dict[tuple[str, str], int]]
EPSILON = 0.2  # of the alternative annotator test, for experts: what a judge saves in effort
FEWEST_PEOPLE = 3
_RATE = 0.05  # of false discoveries
_ENOUGH = 30  # items for Student's test; below it is Wilcoxon's


def krippendorff_alpha(ratings: Values, level: Literal["nominal", "ordinal"]) -> float:
    """Return Krippendorff's alpha, 1 for perfect agreement and 0 for chance (Krippendorff 2011).

    Computed by the library krippendorff. Where all ratings are one value agreement
    cannot be told from chance: NaN.

    Args:
        ratings: (annotators, units) NaN where one did not rate a unit.
        level: Whether the values are categories or ordered.
    """
    rated = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    if np.unique(rated[~np.isnan(rated)]).size < 2:
        return float("nan")
    return float(krippendorff.alpha(reliability_data=rated, level_of_measurement=level))


def cohen_kappa(first: Sequence[float], second: Sequence[float], scale: Sequence[float]) -> float:
    """Return Cohen's kappa of two annotators with squared weights (Cohen 1968).

    A disagreement weighs the square of the distance between the two ratings' places on the scale,
    whichever of its grades were given. Without variation kappa is NaN.

    Args:
        first: One annotator's ratings of the units.
        second: The other's, of the same units in the same order.
        scale: All grades that could be given, in their order.
    """
    place_of = {grade: place for place, grade in enumerate(scale)}
    one, other = (np.array([place_of[x] for x in ratings], np.int64) for ratings in (first, second))
    weights = (np.arange(len(scale))[:, None] - np.arange(len(scale))) ** 2
    expected = np.outer(
        np.bincount(one, minlength=len(scale)), np.bincount(other, minlength=len(scale))
    ) / max(len(first), 1)
    by_chance = float((weights * expected).sum())
    return 1 - float(weights[one, other].sum()) / by_chance if by_chance else float("nan")


def cronbach_alpha(scores: Values) -> float:
    """Return Cronbach's alpha of items that are to measure one thing, NaN without variation.

    (k / (k - 1)) (1 - Σ variance of item / variance of sums), sample variances (Cronbach 1951).

    Args:
        scores: (subjects, k items) at least two of each.
    """
    items = scores.shape[1]
    total = float(scores.sum(axis=1).var(ddof=1)) if min(scores.shape) > 1 else 0.0
    if not total:
        return float("nan")
    apart = float(scores.var(axis=0, ddof=1).sum())
    return float(items / (items - 1) * (1 - apart / total))


def average_variance(scores: Values, *, ddof: int = 1) -> float:
    """Return a metric's dependence on the number of matches, as the first CoSQA+ paper asks.

    Research question 4 of arXiv 2406.11589v1 compares metrics by their average variance over
    groups of queries with 2, 3, 4 and 5 matches: one that is fair to queries with many matches
    varies little. The arithmetic is this project's reading of that. A query is in the group of its
    number of relevant codes; queries with 1 or more than 5 take no part; a group's score is the
    mean over its queries; of each method's four scores the sample variance is taken (divisor 3),
    each group weighing the same however many queries it has; and the mean over the methods is the
    result. Cronbach's alpha has the groups as subjects and the methods as items.

    Args:
        scores: (methods, groups) mean scores.
        ddof: 1 for sample variances, 0 for those of a population; the paper does not say which.
    """
    return float(scores.var(axis=1, ddof=ddof).mean())


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
    keys = sorted({pair for of_annotator in grades.values() for pair in of_annotator})
    rows = [[grades[name].get(pair, np.nan) for pair in keys] for name in names]
    ratings = np.array(rows, np.float64).reshape(len(names), len(keys))
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


def alphas_of_rounds(votes: Iterable[Sequence[int | None]], rounds: int) -> list[float | None]:
    """Return Krippendorff's nominal alpha of each round and the next; None where it is undefined.

    Args:
        votes: For each pair every round's label, None where it gave none.
        rounds: Number of rounds.
    """
    ratings = np.array(list(votes), np.float64).reshape(-1, rounds).T
    alphas = (
        krippendorff_alpha(ratings[first : first + 2], "nominal") for first in range(rounds - 1)
    )
    return [None if math.isnan(alpha) else alpha for alpha in alphas]


class AgainstPerson(Record):
    """The judge against one person.

    Attributes:
        annotator: The person who is left out.
        items: Items that the person, the judge and at least one other labelled.
        judge: Share of the items on which the judge agrees with the others no less than the person:
            its advantage probability.
        person: Share on which the person agrees with them no less than the judge.
        p: Of the hypothesis that the judge is worse by epsilon or more.
        is_won: Whether it is rejected, among all people's.
    """

    annotator: str
    items: int
    judge: float
    person: float
    p: float
    is_won: bool


class AltTest(Record):
    """Result of the alternative annotator test.

    Attributes:
        epsilon: What the judge may be worse by.
        people: The judge against each person.
        winning_rate: Share of the people against whom the judge wins.
        advantage: Mean of the judge's advantage probabilities.
    """

    epsilon: float
    people: tuple[AgainstPerson, ...]
    winning_rate: float
    advantage: float

    @property
    def is_passed(self) -> bool:
        """Return True if the judge wins against half of the people or more."""
        return self.winning_rate >= 0.5


def alt_test(
    grades: Grades, judged: Mapping[tuple[str, str], int], epsilon: float = EPSILON
) -> AltTest | None:
    """Return the alternative annotator test of a judge, None with fewer than three people.

    Source: Calderon, Reichart and Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge"
    (arXiv 2501.10970). Each person in turn is left out. On each of their items it is asked whether
    the judge agrees with the others at least as often as the person does. The judge wins against a
    person where the hypothesis that it is worse by ``epsilon`` or more is rejected; all hypotheses
    together keep a false discovery rate of 5% (Benjamini and Yekutieli 2001), and the judge passes
    where it wins against half of the people.

    Args:
        grades: Of each person.
        judged: Pair → the judge's grade.
        epsilon: What the judge may be worse by.
    """
    from scipy.stats import false_discovery_control  # noqa: PLC0415 - takes a second to import

    compared = {}  # (items, 2): 1 where the judge, and the person, agrees no less with the others
    for name in sorted(grades):
        others = [given for other, given in grades.items() if other != name]
        rows = []
        for pair, own in grades[name].items():
            said = [given[pair] for given in others if pair in given]
            if said and pair in judged:
                judge, person = said.count(judged[pair]), said.count(own)
                rows.append((judge >= person, person >= judge))
        if rows:
            compared[name] = np.array(rows, np.float64)
    if len(compared) < FEWEST_PEOPLE:
        return None
    values = [_p_of_worse(both[:, 1] - both[:, 0], epsilon) for both in compared.values()]
    rejected = false_discovery_control(values, method="by") < _RATE
    people = tuple(
        AgainstPerson(
            annotator=name,
            items=len(both),
            judge=float(both[:, 0].mean()),
            person=float(both[:, 1].mean()),
            p=p,
            is_won=bool(is_won),
        )
        for (name, both), p, is_won in zip(compared.items(), values, rejected, strict=True)
    )
    return AltTest(
        epsilon=epsilon,
        people=people,
        winning_rate=float(rejected.mean()),
        advantage=float(np.mean([each.judge for each in people])),
    )


def _p_of_worse(differences: Values, epsilon: float) -> float:
    """Return the p of the hypothesis that the differences' mean is epsilon or more."""
    from scipy.stats import ttest_1samp, wilcoxon  # noqa: PLC0415 - takes a second to import

    if np.ptp(differences) == 0:  # neither test has a spread to go by
        return 0.0 if differences[0] < epsilon else 1.0
    if len(differences) < _ENOUGH:
        return float(wilcoxon(differences - epsilon, alternative="less").pvalue)
    return float(ttest_1samp(differences, epsilon, alternative="less").pvalue)
