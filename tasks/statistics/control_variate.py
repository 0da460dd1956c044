"""The mean of a random sample with a control variate that is known of all items.

The estimate is mean(y) + lambda (mean of f over all - mean of f over the sample), with lambda =
cov(y, f) / var(f) in the sample: the regression estimator of survey sampling (Cochran 1977,
Sampling Techniques, 7.1 to 7.3). It is that of PPI++ with the tuned lambda (Angelopoulos, Duchi and
Zrnic 2023, arXiv 2311.01453, section 6). There the n labelled and M unlabelled items are apart:
mean(y) + lambda' (mean of f over the M - mean of f over the n), with lambda' =
cov(y, f) / ((1 + n / M) var(f)). As N = n + M, the mean over all less that over the n is M / N
times the mean over the M less that over the n, and 1 + n / M is N / M: both terms are equal. What
differs is the question: PPI++ asks for the mean of the source of the items; this asks for the mean
of these N, so the interval has the finite population correction and is narrower. As lambda is taken
from the same sample, the mean has a bias of order 1 / n.
"""

from dataclasses import dataclass

import numpy as np

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.intervals import Interval
from tasks.statistics.sampling import SCORES, Scale, Spread, check_sample, sample_mean

_CONSTANT = 1e-12  # deviation of a covariate below which it is constant


@dataclass(frozen=True)
class ControlledMean:
    """A mean with a control variate.

    Attributes:
        interval: Of the mean of all items.
        weight: Of the covariate, lambda; 0 where it does not help.
        left: Share of the values' variance that the covariate leaves, at most 1.
    """

    interval: Interval
    weight: float
    left: float

    @property
    def estimated(self) -> int:
        """Parameters estimated from the sample: the mean, and lambda where there is one."""
        return 2 if self.weight else 1


def controlled_mean(
    values: Values,
    covariate: Values,
    covariate_mean: float,
    population: int,
    level: float = 0.95,
    scale: Scale = SCORES,
) -> ControlledMean:
    """Return the mean of all N items from n of them, drawn at random, and estimates of all.

    The variance is that of the residuals, each from the line through the other items (Allen 1974):
    residuals from a line through the item itself are too small. Where that is no gain over the
    sample alone, lambda is 0 and the interval that of `sample_mean`, so that, but for the ends of
    the scale where intervals are cut, it is never wider.

    Args:
        values: (n,) true values y of a simple random sample without replacement.
        covariate: (n,) estimates f of the same items.
        covariate_mean: Mean of the estimates of all N items, the sample's included.
        population: N.
        level: Confidence level.
        scale: The values that there can be.

    Raises:
        EstimationError: There are no values, or more than items, or some are off the scale; or
            there are not as many estimates, or some are no numbers.
    """
    check_sample(values, population, scale)
    if len(covariate) != len(values):
        raise EstimationError(f"{len(values):,} values and {len(covariate):,} estimates of them")
    if not (np.isfinite(covariate).all() and np.isfinite(covariate_mean)):
        raise EstimationError("an estimate is no number: none can serve as control variate")
    interval = sample_mean(values, population, level=level, scale=scale)
    alone = ControlledMean(interval, 0.0, 1.0)
    size = len(values)
    around, apart = values - values.mean(), covariate - covariate.mean()
    total, squares = float(around @ around), float(apart @ apart)
    if size < 3 or total == 0 or squares <= size * _CONSTANT**2:
        return alone
    leverage = 1 / size + apart**2 / squares
    if leverage.max() > 1 - 1e-9:  # one item alone decides the slope
        return alone
    weight = float(around @ apart) / squares
    others = (around - weight * apart) / (1 - leverage)
    # Without a covariate such a residual is n / (n - 1) of the distance from the mean.
    others *= 1 - 1 / size
    left = float(others @ others) / total
    spread = Spread.of(values, scale)
    width = spread.times(left).half_width(size, population, level=level, estimated=2)
    if width >= spread.half_width(size, population, level=level):
        return alone
    mean = float(values.mean()) + weight * (covariate_mean - float(covariate.mean()))
    return ControlledMean(scale.cut(mean, width, level), weight, left)
