"""Differences between methods: tests of their significance, and intervals that hold at any time.

The tests are paired, and corrected for their number. The intervals are of a confidence sequence:
they hold however often one looks at growing samples. It is the asymptotic one of Waudby-Smith,
Arbour, Sinha, Kennedy and Ramdas ("Time-uniform central limit theory and asymptotic confidence
sequences", Annals of Statistics 2024, theorem 2.2), for values between -1 and 1 such as differences
of scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf, log, sqrt
from typing import Literal, NamedTuple

import numpy as np

from tasks.statistics import Values
from tasks.statistics.intervals import Interval

_CELLS_AT_ONCE = 4_000_000
_ROUNDING = 1e-12
FEWEST = 20  # values of a sequence; before them a normal limit means nothing
_WORST = 3  # values counted as far from the mean as any: without them rare ones would be unseen
_TIGHTEST = 100  # values at which an interval is as narrow as any sequence's


@dataclass(frozen=True)
class Comparison:
    """Two methods over the same queries.

    Attributes:
        better: The one with the higher mean; the first by name where they are equal.
        worse: The other.
        difference: Of their means, at least 0.
        p_value: Two-sided, of this comparison alone.
        corrected: The p-value corrected for all comparisons of its table.
    """

    better: str
    worse: str
    difference: float
    p_value: float
    corrected: float


def compare(
    scores: Mapping[str, Values], *, rounds: int = 10_000, seed: int = 0
) -> list[Comparison]:
    """Return every pair of methods, tested by randomisation and corrected by Holm's procedure.

    Args:
        scores: Method → (queries,) values, the queries in one order.
        rounds: How many random assignments are tried.
        seed: Of the assignments.
    """
    means = {
        method: float(values.mean()) if len(values) else 0.0 for method, values in scores.items()
    }
    ranked = sorted(scores, key=lambda method: (-means[method], method))
    pairs = list(combinations(ranked, 2))
    differences = [scores[better] - scores[worse] for better, worse in pairs]
    p_values = randomisation_test(np.array(differences), rounds=rounds, seed=seed)
    return [
        Comparison(better, worse, means[better] - means[worse], float(p), float(corrected))
        for (better, worse), p, corrected in zip(pairs, p_values, holm(p_values), strict=True)
    ]


def randomisation_test(differences: Values, *, rounds: int = 10_000, seed: int = 0) -> Values:
    """Return two-sided p-values of paired differences being centred at 0.

    Under the null hypothesis each query's two values could as well belong to the other method, so
    the signs of the differences are drawn anew (Fisher 1935; Smucker, Allan and Carterette 2007,
    CIKM). The observed assignment counts as one of those tried, so that no p-value is 0 (Phipson
    and Smyth 2010).

    Args:
        differences: (comparisons, queries)
        rounds: How many assignments are drawn.
        seed: Of the draws.
    """
    comparisons, queries = differences.shape if differences.size else (len(differences), 0)
    observed = np.abs(differences.sum(axis=1)) if queries else np.zeros(comparisons)
    generator = np.random.default_rng(seed)
    as_far = np.zeros(comparisons, np.int64)
    step = max(1, _CELLS_AT_ONCE // max(queries, 1))
    for start in range(0, rounds, step):
        shape = (min(step, rounds - start), queries)
        signs = generator.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64) * 2 - 1
        drawn = np.abs(signs @ differences.T) if queries else np.zeros((shape[0], comparisons))
        as_far += np.count_nonzero(drawn >= observed - _ROUNDING, axis=0)
    values: Values = (1 + as_far) / (1 + rounds)
    return values


def holm(p_values: Values) -> Values:
    """Return p-values corrected for their number by Holm's step-down procedure (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    corrected = np.empty(len(p_values))
    corrected[order] = stepped
    return corrected


def sequence_interval(values: Values, *, level: float = 0.95) -> Interval:
    """Return the mean with its interval by a confidence sequence.

    The variance counts three further values as far from the mean as any may be: values of which few
    differ from the others would else have too narrow intervals before one of these comes.

    Args:
        values: (n,) independent values between -1 and 1, in the order in which they came.
        level: The probability that the intervals of all n hold the mean.
    """
    number, alpha = len(values), 1 - level
    mean = float(values.mean()) if number else 0.0
    if number < FEWEST:
        return Interval(mean, -inf, inf, level)
    variance = (_WORST + float(((values - mean) ** 2).sum())) / (number + _WORST)
    rho = (-2 * log(alpha) + log(-2 * log(alpha)) + 1) / _TIGHTEST
    spread = number * rho + 1
    radius = sqrt(variance * 2 * spread / (number**2 * rho) * log(sqrt(spread) / alpha))
    return Interval(mean, mean - radius, mean + radius, level)


Standing = Literal["separated", "within the margin", "open"]


class Neighbours(NamedTuple):
    """Two methods that follow one another, and what is sure of them."""

    better: str
    worse: str
    difference: Interval
    standing: Standing


def neighbours(
    scores: Mapping[str, Values], top: int, margin: float, *, level: float = 0.95
) -> list[Neighbours]:
    """Return each of the first ``top`` methods with the next one.

    All statements hold together, whenever one looks: which methods become neighbours follows from
    the scores, so that the level is shared among all pairs of methods.

    Args:
        scores: Method → (n,) values of the same queries, in the same order.
        top: How many methods, from the best.
        margin: A difference that nobody minds.
        level: The probability that no statement is wrong.
    """
    order = sorted(scores, key=lambda method: (-scores[method].mean(), method))
    pairs = len(order) * (len(order) - 1) // 2
    found = []
    for better, worse in list(pairwise(order))[:top]:
        difference = scores[better] - scores[worse]
        interval = sequence_interval(difference, level=1 - (1 - level) / pairs)
        standing: Standing = "open"
        if interval.low > 0:
            standing = "separated"
        elif -margin <= interval.low and interval.high <= margin:
            standing = "within the margin"
        found.append(Neighbours(better, worse, interval, standing))
    return found
