"""Scores of a method on queries that nobody labelled, by KAPE."""

from infra.errors import EstimationError
from infra.records import Record
from infra.settings import EstimationSettings
from tasks.estimators import EstimationData, Floats, PairVectors, Positions, Ranks
from tasks.estimators.kape import KAPE


class MethodEstimate(Record):
    """Estimated scores of one method.

    Attributes:
        method: Its name.
        k: Neighbours of each query.
        training: Number of training pairs.
        queries: Number of queries.
        scores: Measure → estimated mean over the queries, in the order asked for.
    """

    method: str
    k: int
    training: int
    queries: int
    scores: dict[str, float]


def estimate_scores(
    method: str, training: PairVectors, queries: Floats, settings: EstimationSettings
) -> MethodEstimate:
    """Return KAPE's estimates of a method's scores.

    Args:
        method: Its name.
        training: Vectors of the labelled pairs.
        queries: (n, d) vectors of the queries.
        settings: Neighbours and measures.

    Raises:
        EstimationError: There are no training pairs or queries, or a vector has no cosine.
        UnknownNameError: A measure is unknown.
    """
    data = EstimationData(training, queries, _no_label)
    estimate = KAPE(settings.k).estimate(data, budget=1, seed=0)
    return MethodEstimate(
        method=method,
        k=settings.k,
        training=len(training),
        queries=len(queries),
        scores={measure: estimate.mean(measure) for measure in settings.metrics},
    )


def _no_label(rows: Positions) -> Ranks:
    raise EstimationError(f"{len(rows):,} queries were to be labelled, but none can be here")
