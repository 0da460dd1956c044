"""Pairs, queries and reports of estimates and of the KAPE study, small and made by chance alone."""

from functools import cache

import numpy as np

from infra.settings import EstimationSettings
from tasks.estimation.study import StudiedMethod, StudyFigures, study_figures
from tasks.estimators import PairVectors
from tasks.inputs.pairs import Overlap
from tasks.reports.estimation import EstimationReport, MethodEstimate
from tasks.reports.kape import KapeReport
from tasks.stages.estimate import estimate_scores

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


@cache
def _figures(noise: float) -> StudyFigures:
    generator = np.random.default_rng(0)
    topics = generator.normal(size=(12, 16))

    def pairs(number: int) -> PairVectors:
        places = generator.integers(0, 12, number)
        queries = topics[places] + 0.5 * generator.normal(size=(number, 16))
        return PairVectors(queries, queries + noise * generator.normal(size=(number, 16)))

    return study_figures(pairs(300), pairs(81), validation=pairs(40))


def studied_method(name: str, method: str, noise: float = 1.0) -> StudiedMethod:
    """Return the study of a method that is the worse the more noise its vectors have."""
    figures = _figures(noise)
    return StudiedMethod(
        name=name,
        method=method,
        overlap=Overlap(queries=2, pairs=1, of=81),
        left_out={"x": 3},
        figures=figures,
        nearest=tuple(
            (f"test query {pair.row}", f"training query {pair.nearest_row} {'of words ' * 50}")
            for pair in figures.nearest
        ),
    )


def kape_report(first: str = "docs", second: str = "cosqa") -> KapeReport:
    """Return the report on a good and a bad method on two data sets."""
    studied = tuple(
        studied_method(name, method, noise)
        for name in (first, second)
        for method, noise in (("good", 0.8), ("bad", 2.0))
    )
    return KapeReport(generated_at="now", studied=studied)
