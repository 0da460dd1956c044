"""The estimator random-test: the mean over a random sample of the test queries."""

import math

import numpy as np

from tasks.estimators import Estimate, TrainingPairs, UnlabelledQueries, Values, estimators

_LEVEL = 0.95


@estimators.register("random-test")
class RandomTest:
    """Labels a simple random sample and takes its mean, with a 95% interval (Cochran 1977, ch. 2).

    The interval is t · s / √n · √(1 - n / N) to both sides, cut to [0, 1], for n of N queries with
    the sample's deviation s; one labelled query says nothing of s, so its interval is [0, 1].
    """

    def estimate(
        self,
        queries: UnlabelledQueries,
        training: TrainingPairs,  # noqa: ARG002 - a sample needs no training pairs
        *,
        budget: int,
        seed: int,
    ) -> Estimate:
        """Return the mean score of ``budget`` random queries."""
        total = len(queries.vectors)
        size = min(budget, total)
        chosen = np.random.default_rng(seed).choice(total, size, replace=False)
        values = queries.score(sorted(chosen.tolist()))
        value, half = float(values.mean()), _half_width(values, total)
        return Estimate(value, max(0.0, value - half), min(1.0, value + half), size)


def _half_width(values: Values, total: int) -> float:
    from scipy.stats import t  # noqa: PLC0415 - takes a second to import

    size = len(values)
    if size == total:
        return 0.0
    if size == 1:
        return 1.0
    error = float(values.std(ddof=1)) / math.sqrt(size) * math.sqrt(1 - size / total)
    return float(t.ppf((1 + _LEVEL) / 2, size - 1)) * error
