"""Confidence sequences: intervals of means that hold however often one looks at growing samples.

The asymptotic sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas ("Time-uniform central
limit theory and asymptotic confidence sequences", Annals of Statistics 2024, theorem 2.2), for
values between -1 and 1 such as differences of scores.
"""

from collections.abc import Mapping
from itertools import pairwise
from math import inf, log, sqrt
from typing import Literal, NamedTuple

from tasks.statistics import Values
from tasks.statistics.intervals import Interval

FEWEST = 20  # values; before them a normal limit means nothing
_WORST = 3  # values counted as far from the mean as any: without them rare ones would be unseen
_TIGHTEST = 100  # values at which an interval is as narrow as any sequence's


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
