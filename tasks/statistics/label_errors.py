"""Figures of labels that err, corrected by people's labels of a random sample of the same items."""

import math
from dataclasses import dataclass

import numpy as np

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.control_variate import controlled_mean
from tasks.statistics.intervals import Interval
from tasks.statistics.sampling import SCORES, Scale, Spread, sample_mean

_LEVEL = 0.95


@dataclass(frozen=True)
class CorrectedMean:
    """A mean over all items of what people would have said, with 95% intervals.

    Attributes:
        interval: By people's values of the sample and the agents' of all items.
        sample_alone: By people's values alone.
        sampled: n, items of the sample.
        more: How many more sampled items halve the interval.
    """

    interval: Interval
    sample_alone: Interval
    sampled: int
    more: int


def corrected_mean(
    true: Values,
    labelled: Values,
    labelled_mean: float,
    population: int,
    *,
    scale: Scale = SCORES,
    error: float = 1.0,
) -> CorrectedMean:
    """Return a mean corrected by PPI++ with the tuned lambda (arXiv 2311.01453, section 6).

    See `controlled_mean`, which is that estimator for the mean of these items alone. A sample in
    which no label errs does not show that none does: one more item is imagined that errs in either
    direction, which changes the interval, not the mean (as Agresti and Coull 1998 do).

    Args:
        true: (n,) values by people's labels, of a simple random sample without replacement.
        labelled: (n,) values of the same items by the labels that may err.
        labelled_mean: Mean of these over all items, the sample's included.
        population: N, the number of items.
        scale: What values there can be.
        error: How far an item's value is off where its labels err.

    Raises:
        EstimationError: As of `controlled_mean`.
    """
    size = len(true)
    controlled = controlled_mean(true, labelled, labelled_mean, population, _LEVEL, scale)
    interval = controlled.interval
    if size > 1:
        spread = Spread(float(true.var(ddof=1)) * controlled.left, 2 * error**2)
        half_width = min(
            spread.half_width(size, population, level=_LEVEL, estimated=controlled.estimated),
            Spread.of(true, scale).half_width(size, population, level=_LEVEL),
        )
        interval = scale.cut(interval.mean, half_width, _LEVEL)
    alone = sample_mean(true, population, level=_LEVEL, scale=scale)
    return CorrectedMean(interval, alone, size, more_to_halve(size, population))


def more_to_halve(sampled: int, population: int) -> int:
    """Return how many more items of N halve the interval of a sample of n.

    Its squared width goes with 1/n - 1/N (Cochran 1977, Sampling Techniques, 2.6), of which a
    quarter is to be left.
    """
    if sampled >= population:
        return 0
    return math.ceil(1 / (0.25 / sampled + 0.75 / population) - sampled)


def rogan_gladen(
    true: Values, labelled: Values, labelled_share: float, population: int, *, level: float = 0.95
) -> Interval | None:
    """Return the share of matches by Rogan and Gladen (1978), the check of `corrected_mean`.

    (p + specificity - 1) / (sensitivity + specificity - 1), where p is the share of items that are
    labelled 1. The interval is that of Lang and Reiczigel (2014, Preventive Veterinary Medicine
    113), who add pseudo counts. None where the labels are no better than chance, or the sample has
    no match or nothing but matches.

    Args:
        true: (n,) people's labels, 0 or 1, of a simple random sample.
        labelled: (n,) the labels that may err, 0 or 1.
        labelled_share: p over all items.
        population: N, the number of items.
        level: Confidence level.

    Raises:
        EstimationError: There are not as many labels of one kind as of the other.
    """
    if len(true) != len(labelled):
        raise EstimationError(f"{len(true):,} labels of people and {len(labelled):,} others")
    matches, others = int(true.sum()), int((1 - true).sum())
    if not matches or not others:
        return None
    from scipy.special import ndtri  # noqa: PLC0415 - takes most of a second to import

    z = float(ndtri((1 + level) / 2))
    share = (population * labelled_share + z * z / 2) / (population + z * z)
    sensitivity = (float(labelled[true == 1].sum()) + 1) / (matches + 2)
    specificity = (float((1 - labelled[true == 0]).sum()) + 1) / (others + 2)
    youden = sensitivity + specificity - 1
    if youden <= 0:
        return None
    mean = min(max((share + specificity - 1) / youden, 0.0), 1.0)
    of_share = share * (1 - share) / (population + z * z)
    of_matches = sensitivity * (1 - sensitivity) / (matches + 2)
    of_others = specificity * (1 - specificity) / (others + 2)
    shift = 2 * z * z * (mean * of_matches - (1 - mean) * of_others)
    variance = of_share + mean**2 * of_matches + (1 - mean) ** 2 * of_others
    half_width = z * float(np.sqrt(variance)) / youden
    low, high = mean + shift - half_width, mean + shift + half_width
    return Interval(mean, min(max(low, 0.0), 1.0), max(min(high, 1.0), 0.0), level)
