"""How near the training queries are, and whether they are near enough for an estimate.

KAPE takes a query's score from the training queries nearest to it. So the distance that counts is
that between two sets of similarities: those of the queries to their nearest training query, and
those of the distinct training queries to the nearest other one. The energy distance of the vectors
themselves is given beside it, but decides nothing: with MiniLM and 20,200 pairs of documentation as
training set its coefficient is .062 for web queries about code (CoSQA) and .036 for queries about
cooking, sports, travel and law, while that of the similarities is .085 and .642. For documentation
of other distributions it is .057, and for random letters .722.
"""

import numpy as np

from infra.settings import EstimationSettings
from tasks.estimation.records import (
    FEWEST_JUDGED,
    Density,
    Distance,
    Similarities,
)
from tasks.estimators import Floats
from tasks.statistics import Values
from tasks.statistics.density import density
from tasks.statistics.energy_distance import EnergyDistance, energy_distance

SIGNIFICANT = 0.01
MOST = 1_000  # vectors of each that are compared
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_GRID = 81


def similarities_of(queries: Values, training: Values | None) -> Similarities:
    """Return the densities of similarities to the nearest training query.

    Args:
        queries: (n,) of the queries.
        training: (m,) of training queries to the nearest other one; None with one of them.
    """
    groups = [queries] if training is None else [queries, training]
    lowest = min(float(np.quantile(group, 0.002)) for group in groups)
    grid = np.linspace(max(-1.0, np.floor((lowest - 0.05) * 20) / 20), 1.0, _GRID)
    densities = [
        Density(
            quantiles={f"{share:g}": float(np.quantile(group, share)) for share in _SHARES},
            curve=tuple(np.round(density(group, grid, highest=1.0), 4).tolist()),
            size=len(group),
        )
        for group in groups
    ]
    return Similarities(
        grid=tuple(np.round(grid, 4).tolist()),
        queries=densities[0],
        training=densities[1] if len(densities) > 1 else None,
    )


def distance_of(
    queries: Floats,
    training: Floats,
    near: Values,
    among: Values | None,
    settings: EstimationSettings,
) -> Distance:
    """Return how far the queries are from the training queries, and whether that is too far.

    Too far: less similar to their nearest training query than training queries are among
    themselves, by a permutation test and by more than the limit. Both are needed, since of
    thousands of queries every difference is significant.

    Args:
        queries: (n, d) vectors.
        training: (m, d) vectors.
        near: (n,) similarities of the queries to their nearest training query.
        among: (some,) of training queries to the nearest other one; None with one of them.
        settings: Limit and seed.
    """
    generator = np.random.default_rng(settings.seed)
    vectors = energy_distance(
        _some_unit(queries, generator), _some_unit(training, generator), seed=settings.seed
    )
    if among is None:
        return Distance(vectors=vectors, nearest=None, limit=settings.max_distance, refused=False)
    apart = energy_distance(near[:, None], among[:, None], seed=settings.seed)
    here, there = float(np.median(near)), float(np.median(among))
    refused = (
        apart.p_value < SIGNIFICANT and apart.coefficient > settings.max_distance and here < there
    )
    return Distance(
        vectors=vectors,
        nearest=apart,
        limit=settings.max_distance,
        refused=refused,
        reason=_reason(apart, here, there, settings.max_distance) if refused else "",
    )


def _reason(apart: EnergyDistance, here: float, there: float, limit: float) -> str:
    return (
        f"the queries lie far from the training queries: half of them have none with a cosine of "
        f"{here:.2f} or more, while training queries have each other at {there:.2f} (energy "
        f"coefficient {apart.coefficient:.2f}, limit {limit:g}, p = {apart.p_value:.3f}), and "
        "unlike pairs say nothing about these queries. Take training pairs with queries like "
        f"them, or label a random sample of at least {FEWEST_JUDGED} queries"
    )


def _some_unit(vectors: Floats, generator: np.random.Generator) -> Values:
    """Return at most `MOST` rows, drawn at random, of unit length in double precision."""
    if len(vectors) > MOST:
        vectors = vectors[generator.choice(len(vectors), MOST, replace=False)]
    doubles = vectors.astype(np.float64)
    unit: Values = doubles / np.linalg.norm(doubles, axis=1, keepdims=True)
    return unit
