"""KAPE: k-nearest-neighbour performance estimation, with the four weightings of its ablation.

Source: KAPE, Algorithm 1, whose line 17 prints m for k, and equations 1 to 3; section 5.4 for the
weightings.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from infra.records import Record
from tasks.estimators import Estimate, EstimationData, estimators
from tasks.statistics import Values

Weighting = Literal["fixed-equal", "fixed-similarity", "adaptive-equal", "adaptive-similarity"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
Kept = npt.NDArray[np.bool_]

MOST_NEIGHBOURS = 10  # the greatest k of the paper's tables
_FAR = 1.0  # deviations below the mean similarity
_TOLERANCE = 1e-9
_NOTHING = 1e-12


@estimators.register("kape")
class KAPE:
    """Averages the ranks of the training pairs whose queries are nearest to each test query.

    Args:
        k: Number of neighbours.
        weighting: ``adaptive-similarity`` is KAPE; ``fixed-`` keeps all k neighbours, and
            ``-equal`` gives the kept ones the same weight.
    """

    uses_labels: ClassVar[bool] = False
    is_stable: ClassVar[bool] = True

    def __init__(self, k: int = 5, weighting: Weighting = "adaptive-similarity") -> None:
        self._k = k
        self._weighting = weighting

    def estimate(
        self,
        data: EstimationData,
        *,
        budget: int,  # noqa: ARG002 - it needs no labels
        seed: int,  # noqa: ARG002 - nothing is left to chance
    ) -> Estimate:
        """Return the neighbours' ranks, (test queries, k), with their weights."""
        similarities = data.nearest(self._k).similarities
        weights = neighbour_weights(similarities, self._weighting)
        return Estimate(data.neighbour_ranks(self._k), weights)


def neighbour_weights(similarities: Values, weighting: Weighting) -> Values:
    """Return the weights of the neighbours, none below 0, each row's sum being 1 (equation 3).

    With cosines below 0, which the paper does not meet, equation 3 would give shares below 0 and
    above 1, and so estimates that no mean can be. Such neighbours weigh nothing by similarity.

    Args:
        similarities: (queries, k) cosines.
        weighting: How kept neighbours are weighted, and whether all are kept.
    """
    if weighting.startswith("fixed"):
        kept = np.ones(similarities.shape, np.bool_)
    else:
        kept = kept_neighbours(similarities)
    equal = weighting.endswith("equal")
    weights: Values = np.where(kept, 1.0 if equal else np.maximum(similarities, 0.0), 0.0)
    sums = weights.sum(axis=1, keepdims=True)
    # Similarities that add up to nothing give no shares: the kept neighbours count the same.
    weights = np.where(sums > _NOTHING, weights, kept)
    result: Values = weights / weights.sum(axis=1, keepdims=True)
    return result


def kept_neighbours(similarities: Values) -> Kept:
    """Return the neighbours KAPE uses: those at most one deviation below their row's mean.

    The far ones are left out, so that low similarities have no part in the estimate. Equation 3
    prints z <= 1, which holds of z-scores of distances: Table 6 has been computed so. The deviation
    is that of the population; where it is 0 all are kept, and of two neighbours both are, whose
    z-scores are 1 and -1.

    Args:
        similarities: (queries, k) cosines.
    """
    mean = similarities.mean(axis=1, keepdims=True)
    deviation = similarities.std(axis=1, keepdims=True)
    kept: Kept = mean - similarities <= deviation * (_FAR + _TOLERANCE) + _NOTHING
    return kept


class NeighboursUsed(Record):
    """Neighbours that KAPE keeps of k: the fewest of a query, and the mean (Table 6)."""

    k: int
    minimum: int
    mean: float


def neighbours_used(nearest: Values, ks: Iterable[int]) -> Iterator[NeighboursUsed]:
    """Yield the number of neighbours used with each k.

    Args:
        nearest: (queries, neighbours) similarities, falling; as many as the greatest k.
        ks: Numbers of neighbours.
    """
    for k in ks:
        used = kept_neighbours(nearest[:, :k]).sum(axis=1)
        yield NeighboursUsed(k=k, minimum=int(used.min()), mean=float(used.mean()))
