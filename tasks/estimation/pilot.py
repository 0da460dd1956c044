"""A sample of the training queries, each estimated from the others, and what it says of labelling.

Where nothing is judged yet, how well estimates do can only be tried on training queries.
"""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from infra.settings import EstimationSettings
from tasks.estimation.confidence import confidence_of
from tasks.estimation.records import FEWEST_JUDGED, Plan, PlanRow
from tasks.estimators import Estimate, Floats, PairVectors, measure_named, nearest, ranks_among
from tasks.estimators.kape import neighbour_weights
from tasks.statistics import Values
from tasks.statistics.control_variate import controlled_mean
from tasks.statistics.sampling import SCORES, Spread, sample_size

MOST = 2_000  # training queries of the sample
USUAL_HALF_WIDTHS = (0.05, 0.03, 0.02, 0.01)
_MANY = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Pilot:
    """Distinct training queries with their nearest other ones.

    Attributes:
        rows: (n,) of the training pairs, one for each query.
        neighbours: (n, k) rows of the nearest other training queries.
        similarities: (n, k) cosines, falling.
    """

    rows: npt.NDArray[np.int64]
    neighbours: npt.NDArray[np.int64]
    similarities: Values


def pilot_of(training: PairVectors, k: int, seed: int) -> Pilot | None:
    """Return a random sample of the training queries with their k nearest others.

    A query with several codes is one query, by its first pair: it is no other one to itself.

    Args:
        training: The pairs.
        k: Neighbours; fewer where there are not as many others.
        seed: Of the sample.

    Returns:
        None where all pairs have the same query.
    """
    distinct = _first_rows(training.queries)
    if len(distinct) < 2:
        return None
    drawn = np.arange(len(distinct))
    if len(drawn) > MOST:
        drawn = np.sort(np.random.default_rng(seed).choice(drawn, MOST, replace=False))
    found = nearest(training.queries[distinct[drawn]], training.queries[distinct], k + 1)
    others = found.rows != drawn[:, None]
    # Among more than k queries as near as itself a query may be missing: the last one goes then.
    others[others.all(axis=1), -1] = False
    shape = (len(drawn), found.rows.shape[1] - 1)
    neighbours = distinct[found.rows[others].reshape(shape)]
    return Pilot(distinct[drawn], neighbours, found.similarities[others].reshape(shape))


def _first_rows(vectors: Floats) -> npt.NDArray[np.int64]:
    """Return the first row of each distinct vector; equal texts have equal vectors, bit by bit."""
    first: dict[bytes, int] = {}
    for row, vector in enumerate(vectors):
        first.setdefault(sha256(vector.tobytes()).digest(), row)
    return np.array(list(first.values()), np.int64)


def pilot_values(training: PairVectors, pilot: Pilot, measure: str) -> tuple[Values, Values]:
    """Return the sample's true values, and (n, 2) control variates of them.

    These are KAPE's estimates, with their own pairs left out, and the model's confidence.

    Args:
        training: The pairs that the sample is of; codes are ranked among the sample's.
        pilot: The sample.
        measure: As `measure_named` knows it.
    """
    columns = [ranks_among(training, column) for column in pilot.neighbours.T]
    weights = neighbour_weights(pilot.similarities, "adaptive-similarity")
    estimated = Estimate(np.column_stack(columns), weights).by_row(measure)
    sample = training.rows(pilot.rows)
    confidence = confidence_of(sample.queries, sample.codes, sample.similarity)
    true = measure_named(measure)(ranks_among(training, pilot.rows))
    return true, np.column_stack([estimated, confidence])


def plan_of(
    true: Values,
    covariates: Values,
    queries: int,
    judged: int,
    settings: EstimationSettings,
) -> Plan:
    """Return how many queries must be labelled for the half-width aimed at, and for usual ones.

    Args:
        true: (n,) values of a pilot sample, at least two.
        covariates: (n, c) control variates of them.
        queries: N, the number of queries.
        judged: How many of them are judged; enough of them are the pilot sample themselves.
        settings: Metric, half-width that is aimed at, level.
    """
    spread = Spread.of(true, SCORES)
    found = controlled_mean(true, covariates, covariates.mean(axis=0), _MANY)
    spreads = ((spread, 1), (spread.times(found.left), found.estimated))
    rows = []
    for half_width in dict.fromkeys([settings.half_width, *USUAL_HALF_WIDTHS]):
        sizes = [
            sample_size(each, queries, half_width, level=settings.level, estimated=estimated)
            for each, estimated in spreads
        ]
        alone, combined = (min(max(size, FEWEST_JUDGED), queries) for size in sizes)
        combined = min(alone, combined)
        rows.append(
            PlanRow(
                half_width=half_width,
                alone=alone,
                combined=combined,
                more_alone=max(0, alone - judged),
                more_combined=max(0, combined - judged),
            )
        )
    return Plan(
        measure=settings.metrics[0],
        pilot="judged" if judged >= FEWEST_JUDGED else "training",
        pilot_size=len(true),
        deviation=float(np.sqrt(spread.variance)),
        residual=float(np.sqrt(spread.variance * found.left)),
        rows=tuple(rows),
    )
