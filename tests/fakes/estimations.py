"""Pairs, queries and reports for estimates without labels, small and made by chance alone."""

from functools import cache

import numpy as np

from infra.settings import EstimationSettings
from tasks.estimation.unlabelled import MethodEstimate, estimate_scores
from tasks.estimators import PairVectors
from tasks.reports.estimation import EstimationReport

DIMENSION = 12


def pairs(size: int, seed: int, *, noise: float = 0.8) -> PairVectors:
    """Return pairs around a few subjects; ``noise`` parts the codes from their queries.

    Args:
        size: Number of pairs.
        seed: Of chance; pairs of all seeds have the same subjects.
        noise: Deviation of a code's vector from its query's.
    """
    subjects = np.random.default_rng(99).normal(size=(6, DIMENSION))
    generator = np.random.default_rng(seed)
    centres = subjects[generator.integers(0, 6, size)]
    queries = centres + 0.7 * generator.normal(size=centres.shape)
    codes = queries + noise * generator.normal(size=centres.shape)
    return PairVectors(queries.astype(np.float32), codes.astype(np.float32))


@cache
def estimated(method: str = "one", *, noise: float = 0.8) -> MethodEstimate:
    """Return an estimate for 200 queries from 300 training pairs."""
    queries = pairs(200, seed=2, noise=noise).queries
    return estimate_scores(method, pairs(300, 1, noise=noise), queries, EstimationSettings())


def estimation_report(*names: str, note: str = "5 queries overlap.") -> EstimationReport:
    """Return a report of methods that differ in noise, the first being the best."""
    return EstimationReport(
        title=f"queries for {names[0]}",
        training=f"training for {names[0]}",
        generated_at="2026-01-02 03:04",
        estimates=tuple(
            estimated(name, noise=0.8 + 0.4 * place) for place, name in enumerate(names)
        ),
        notes=(note,),
    )
