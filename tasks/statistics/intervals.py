"""Confidence intervals of means."""

from dataclasses import dataclass

import numpy as np

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
