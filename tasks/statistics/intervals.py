"""Confidence intervals of means, of shares, and of other statistics of items."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.statistics import Values

_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A mean over queries and the interval that holds it with the level's probability."""

    mean: float
    low: float
    high: float
    level: float


def bootstrap_interval(
    values: Values, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Interval:
    """Return the mean with its percentile bootstrap interval over queries.

    Queries are drawn with replacement (Efron 1979; Sakai 2006, SIGIR, for retrieval). The same
    values and seed give the same interval. Percentiles rather than the bias-corrected and
    accelerated form, which is undefined where all queries score alike.

    Args:
        values: (queries,) one value each.
        level: Between 0 and 1.
        resamples: How often the queries are drawn anew.
        seed: Of the draws.
    """
    if not len(values):
        return Interval(0.0, 0.0, 0.0, level)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    step = max(1, _CELLS_AT_ONCE // len(values))
    for start in range(0, resamples, step):
        drawn = min(step, resamples - start)
        chosen = generator.integers(0, len(values), size=(drawn, len(values)), dtype=np.int32)
        means[start : start + drawn] = values[chosen].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(values.mean()), float(low), float(high), level)


def bootstrap_of(
    statistic: Callable[[npt.NDArray[np.int64]], float],
    items: int,
    *,
    level: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> Interval:
    """Return a statistic of items with its percentile bootstrap interval (Efron 1979).

    Resamples for which it is undefined are left out; all is NaN where it is never defined.

    Args:
        statistic: Computes it from the positions of drawn items; NaN is undefined.
        items: Their number.
        level: Between 0 and 1.
        resamples: How often items are drawn anew, with replacement.
        seed: Of the draws.
    """
    nan = float("nan")
    value = statistic(np.arange(items)) if items else nan
    if np.isnan(value):
        return Interval(nan, nan, nan, level)
    generator = np.random.default_rng(seed)
    drawn = np.array([statistic(generator.integers(0, items, items)) for _ in range(resamples)])
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level)


def wilson_interval(part: int, whole: int, *, level: float = 0.95) -> Interval:
    """Return a share with its interval by Wilson (1927); NaN of nothing.

    Args:
        part: Number of items that count.
        whole: Number of all items.
        level: Between 0 and 1.
    """
    if not whole:
        nan = float("nan")
        return Interval(nan, nan, nan, level)
    from scipy.stats import binomtest  # noqa: PLC0415 - takes a second to import

    found = binomtest(part, whole).proportion_ci(level, method="wilson")
    return Interval(part / whole, float(found.low), float(found.high), level)
