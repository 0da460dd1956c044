"""Means of simple random samples without replacement.

Three estimates of the mean of N items from n of them, drawn at random: that of the sample alone,
that with a control variate, which is known of all items, and one corrected for labels that err.

With a control variate the estimate is mean(y) + lambda (mean of f over all - mean of f over the
sample), with lambda = cov(y, f) / var(f) in the sample: the regression estimator of survey sampling
(Cochran 1977, Sampling Techniques, 7.1 to 7.3). It is that of PPI++ with the tuned lambda
(Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453, section 6). There the n labelled and M
unlabelled items are apart: mean(y) + lambda' (mean of f over the M - mean of f over the n), with
lambda' = cov(y, f) / ((1 + n / M) var(f)). As N = n + M, the mean over all less that over the n is
M / N times the mean over the M less that over the n, and 1 + n / M is N / M: both terms are equal.
What differs is the question: PPI++ asks for the mean of the source of the items; this asks for the
mean of these N, so the interval has the finite population correction and is narrower. As lambda is
taken from the same sample, the mean has a bias of order 1 / n.
"""

from dataclasses import dataclass

import numpy as np

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.intervals import Interval

_ROUNDING = 1e-9
_CONSTANT = 1e-12  # deviation of a covariate below which it is constant
_LEVEL = 0.95


@dataclass(frozen=True)
class Scale:
    """The values that an item can have.

    Attributes:
        low: The least.
        high: The greatest.
        skewed: Whether values pile up at one end, as scores do. The t interval of few such values
            covers too seldom: where most are equal, the sample often holds none of the others. So
            one further value is imagined at each end, which changes the spread, not the mean
            (Agresti and Coull 1998 do so with proportions). Differences lie on both sides of 0
            and need it only where all are equal.
    """

    low: float
    high: float
    skewed: bool

    def cut(self, mean: float, half_width: float, level: float) -> Interval:
        """Return the interval around a mean, which ends where the scale does."""
        return Interval(
            mean=min(max(mean, self.low), self.high),
            low=min(max(mean - half_width, self.low), self.high),
            high=max(min(mean + half_width, self.high), self.low),
            level=level,
        )


SCORES = Scale(0.0, 1.0, skewed=True)
DIFFERENCES = Scale(-1.0, 1.0, skewed=False)


@dataclass(frozen=True)
class Spread:
    """The spread of items around their mean.

    Attributes:
        variance: Of the items, with n - 1 in its denominator.
        imagined: Sum of the squared distances from the mean of the values imagined at the ends of
            the scale; None where none are.
    """

    variance: float
    imagined: float | None

    @classmethod
    def of(cls, values: Values, scale: Scale) -> "Spread":
        """Return the spread of at least two values."""
        mean, variance = float(values.mean()), float(values.var(ddof=1))
        needed = scale.skewed or variance == 0
        imagined = (mean - scale.low) ** 2 + (scale.high - mean) ** 2 if needed else None
        return cls(variance, imagined)

    def times(self, factor: float) -> "Spread":
        """Return the spread with the share of the variance that a covariate leaves."""
        return Spread(
            self.variance * factor, None if self.imagined is None else self.imagined * factor
        )

    def half_width(self, size: int, population: int, *, level: float, estimated: int = 1) -> float:
        """Return half the width of the interval of a sample's mean; infinite for too few values.

        t times the root of variance / n times (1 - n / N), the finite population correction:
        a sample of all items leaves no doubt (Cochran 1977, Sampling Techniques, 2.5 to 2.8).

        Args:
            size: n, of the sample.
            population: N, the number of items that it is drawn from.
            level: Confidence level.
            estimated: Parameters estimated from the sample: 1, or 2 with a covariate.
        """
        if size >= population:
            return 0.0
        if size <= estimated:
            return float("inf")
        variance = self.variance
        if self.imagined is not None:
            variance = (variance * (size - 1) + self.imagined) / (size + 1)
        from scipy.special import stdtrit  # noqa: PLC0415 - takes most of a second to import

        quantile = float(stdtrit(size - estimated, (1 + level) / 2))
        return quantile * float(np.sqrt(variance / size * (1 - size / population)))


def sample_mean(
    values: Values, population: int, *, level: float = 0.95, scale: Scale = SCORES
) -> Interval:
    """Return the mean of a sample with the interval of the mean of all items.

    One value says nothing of the spread: the interval is the whole scale.

    Args:
        values: (n,) of a simple random sample without replacement.
        population: N, the number of items that it is drawn from.
        level: Confidence level.
        scale: The values that there can be.

    Raises:
        EstimationError: There are no values, or more than items, or some are off the scale.
    """
    check_sample(values, population, scale)
    mean = float(values.mean())
    if len(values) == 1:
        return scale.cut(mean, 0.0 if population == 1 else float("inf"), level)
    width = Spread.of(values, scale).half_width(len(values), population, level=level)
    return scale.cut(mean, width, level)


def check_sample(values: Values, population: int, scale: Scale) -> None:
    """Refuse values that are no sample of items on a scale.

    Raises:
        EstimationError: There are no values, or more than items, or some are off the scale.
    """
    if not len(values):
        raise EstimationError("there are no values whose mean could be taken")
    if len(values) > population:
        raise EstimationError(
            f"{len(values):,} values are no sample of {population:,} items: each is drawn once"
        )
    off = ~((values >= scale.low - _ROUNDING) & (values <= scale.high + _ROUNDING))
    if off.any():
        place = int(off.argmax())
        raise EstimationError(
            f"value {place + 1} is {values[place]}: values from {scale.low:g} to {scale.high:g} "
            "are expected"
        )


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


def corrected_mean(
    true: Values,
    labelled: Values,
    labelled_mean: float,
    population: int,
    *,
    scale: Scale = SCORES,
    error: float = 1.0,
) -> Interval:
    """Return a mean corrected by PPI++ with the tuned lambda (arXiv 2311.01453, section 6).

    See `controlled_mean`, which is that estimator for the mean of these items alone. A sample in
    which no label errs does not show that none does: one more item is imagined that errs in either
    direction, which changes the interval, not the mean (as Agresti and Coull 1998 do).

    Args:
        true: (n,) values by people's labels, of a simple random sample without replacement.
        labelled: (n,) values of the same items by the labels that may err.
        labelled_mean: Mean of these over all items, the sample's included.
        population: N, the number of items.
        scale: The values that there can be.
        error: How far an item's value is off where its labels err.

    Raises:
        EstimationError: As of `controlled_mean`.
    """
    size = len(true)
    controlled = controlled_mean(true, labelled, labelled_mean, population, _LEVEL, scale)
    if size == 1:
        return controlled.interval
    spread = Spread(float(true.var(ddof=1)) * controlled.left, 2 * error**2)
    half_width = min(
        spread.half_width(size, population, level=_LEVEL, estimated=controlled.estimated),
        Spread.of(true, scale).half_width(size, population, level=_LEVEL),
    )
    return scale.cut(controlled.interval.mean, half_width, _LEVEL)
