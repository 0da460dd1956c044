"""Confidence intervals of means, of shares, and of other statistics of items."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.statistics import Values


@dataclass(frozen=True)
class Interval:
    """A mean over queries and the interval that holds it with the level's probability."""

    mean: float
    low: float
    high: float
    level: float = 0.95


def bootstrap_interval(
    values: Values,
    *,
    ends: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """Return the mean with its percentile bootstrap interval over queries.

    Queries are resampled with replacement (Efron 1979; Sakai 2006, SIGIR, for retrieval). The same
    values and seed give the same interval. Percentiles rather than the bias-corrected and
    accelerated form, which is undefined where all queries score alike. Where they do, resamples
    vary no more than they: the interval is that of the rule of three, by which at most 3 of n other
    queries in n score otherwise, each by as much as the scale has room for.

    Args:
        values: (queries,) one value each.
        ends: The lowest and the highest value that a query can have.
        level: Between 0 and 1.
        resamples: Number of resamples.
        seed: Of the resamples.
    """
    if not len(values):
        return Interval(0.0, 0.0, 0.0, level)
    if (mean := float(values[0])) == values.min() == values.max():
        others = 1 - (1 - level) ** (1 / len(values))  # the rule's 3 / n, to the digit
        low, high = (mean + others * (end - mean) for end in ends)
        return Interval(mean, low, high, level)
    return bootstrap_of(
        lambda rows: float(values[rows].mean()), len(values),
        level=level, resamples=resamples, seed=seed,
    )  # fmt: skip


def bootstrap_of(
    statistic: Callable[[npt.NDArray[np.integer]], float],
    items: int,
    *,
    level: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> Interval:
    """Return a statistic of items with its percentile bootstrap interval (Efron 1979).

    Resamples for which it is undefined are left out; all is NaN where it is never defined.

    Args:
        statistic: Computes it from the positions of resampled items; NaN is undefined.
        items: Their number.
        level: Between 0 and 1.
        resamples: Number of resamples, with replacement.
        seed: Of the resamples.
    """
    nan = float("nan")
    value = statistic(np.arange(items)) if items else nan
    if np.isnan(value):
        return Interval(nan, nan, nan, level)
    generator = np.random.default_rng(seed)
    found = np.array(
        [statistic(generator.integers(0, items, items, dtype=np.int32)) for _ in range(resamples)]
    )
    low, high = np.nanquantile(found, [(1 - level) / 2, (1 + level) / 2])
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
