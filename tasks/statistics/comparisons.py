"""Significance of differences between methods: paired tests, corrected for their number."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tasks.statistics import Values

_CELLS_AT_ONCE = 4_000_000
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Comparison:
    """Two methods over the same queries.

    Attributes:
        better: The one with the higher mean; the first by name where they are equal.
        worse: The other.
        difference: Of their means, at least 0.
        p_value: Two-sided, of this comparison alone.
        corrected: The p-value corrected for all comparisons of its table.
    """

    better: str
    worse: str
    difference: float
    p_value: float
    corrected: float


def compare(
    scores: Mapping[str, Values], *, rounds: int = 10_000, seed: int = 0
) -> list[Comparison]:
    """Return every pair of methods, tested by randomisation and corrected by Holm's procedure.

    Args:
        scores: Method → (queries,) values, the queries in one order.
        rounds: How many random assignments are tried.
        seed: Of the assignments.
    """
    means = {
        method: float(values.mean()) if len(values) else 0.0 for method, values in scores.items()
    }
    ranked = sorted(scores, key=lambda method: (-means[method], method))
    pairs = list(combinations(ranked, 2))
    differences = [scores[better] - scores[worse] for better, worse in pairs]
    p_values = randomisation_test(np.array(differences), rounds=rounds, seed=seed)
    return [
        Comparison(better, worse, means[better] - means[worse], float(p), float(corrected))
        for (better, worse), p, corrected in zip(pairs, p_values, holm(p_values), strict=True)
    ]


def randomisation_test(differences: Values, *, rounds: int = 10_000, seed: int = 0) -> Values:
    """Return two-sided p-values of paired differences being centred at 0.

    Under the null hypothesis each query's two values could as well belong to the other method, so
    the signs of the differences are drawn anew (Fisher 1935; Smucker, Allan and Carterette 2007,
    CIKM). The observed assignment counts as one of those tried, so that no p-value is 0 (Phipson
    and Smyth 2010).

    Args:
        differences: (comparisons, queries)
        rounds: How many assignments are drawn.
        seed: Of the draws.
    """
    comparisons, queries = differences.shape if differences.size else (len(differences), 0)
    observed = np.abs(differences.sum(axis=1)) if queries else np.zeros(comparisons)
    generator = np.random.default_rng(seed)
    as_far = np.zeros(comparisons, np.int64)
    step = max(1, _CELLS_AT_ONCE // max(queries, 1))
    for start in range(0, rounds, step):
        shape = (min(step, rounds - start), queries)
        signs = generator.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64) * 2 - 1
        drawn = np.abs(signs @ differences.T) if queries else np.zeros((shape[0], comparisons))
        as_far += np.count_nonzero(drawn >= observed - _ROUNDING, axis=0)
    values: Values = (1 + as_far) / (1 + rounds)
    return values


def holm(p_values: Values) -> Values:
    """Return p-values corrected for their number by Holm's step-down procedure (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    corrected = np.empty(len(p_values))
    corrected[order] = stepped
    return corrected
