"""A studied method with made vectors, under any names."""

from functools import cache

import numpy as np

from tasks.estimation.study import StudiedMethod, StudyFigures, study_figures
from tasks.estimators import PairVectors
from tasks.inputs.pairs import Overlap
from tasks.reports.kape import KapeReport


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
