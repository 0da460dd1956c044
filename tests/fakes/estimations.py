"""Pairs, queries and reports for estimates without labels, small and made by chance alone."""

from functools import cache

import numpy as np

from tasks.estimation.comparison import compare_methods
from tasks.estimation.records import MethodEstimate
from tasks.estimation.unlabelled import Judged, confidence_of, estimate_scores
from tasks.estimators import MEASURES, PairVectors, measure_named, ranks_among
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


def judged(test: PairVectors, size: int, *, confident: bool = True) -> Judged:
    """Return the true values of a random sample of the test pairs."""
    rows = np.random.default_rng(0).choice(len(test), size, replace=False)
    ranks = ranks_among(test, rows_of_all(test))[rows]
    values = {measure: measure_named(measure)(ranks) for measure in MEASURES}
    return Judged(rows, values, confidence_of(test.queries, test.codes) if confident else None)


def rows_of_all(test: PairVectors) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the positions of all pairs."""
    return np.arange(len(test))


@cache
def estimated(
    method: str = "one",
    *,
    labels: int = 40,
    noise: float = 0.8,
    confident: bool = True,
) -> MethodEstimate:
    """Return an estimate for 200 queries from 300 training pairs."""
    test = pairs(200, seed=2, noise=noise)
    sample = judged(test, labels, confident=confident) if labels else None
    return estimate_scores(method, pairs(300, 1, noise=noise), test.queries, sample)


def estimation_report(
    *names: str, labels: int = 40, note: str = "5 queries overlap."
) -> EstimationReport:
    """Return a report of methods that differ in noise, the first being the best."""
    estimates = [
        estimated(name, labels=labels, noise=0.8 + 0.4 * place) for place, name in enumerate(names)
    ]
    return EstimationReport(
        title=f"queries for {names[0]}",
        training=f"training for {names[0]}",
        generated_at="2026-01-02 03:04",
        estimates=tuple(estimates),
        comparison=compare_methods(estimates) if len(estimates) > 1 else None,
        notes=(note,),
    )
