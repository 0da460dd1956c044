"""Agreement of annotators beyond chance, and consistency of a metric."""

from collections.abc import Sequence
from typing import Literal

import krippendorff
import numpy as np

from tasks.statistics import Values


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
