"""Means of simple random samples without replacement."""

from dataclasses import dataclass

import numpy as np

from infra.errors import EstimationError
from tasks.statistics import Values
from tasks.statistics.intervals import Interval

_ROUNDING = 1e-9


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
