"""Estimators of a model's scores on queries that are mostly unlabelled.

Source of all but the protocol: Guo et al., "KAPE: kNN-Based Performance Testing for Deep Code
Search", with its rivals. Each chooses pairs of query and code, ranks the code of every pair among
the chosen ones, and averages a measure of the ranks.

To add one, write a file (of any name) with a class that is made without arguments and has
``uses_labels``, ``is_stable`` and ``estimate``, and decorate it with
``@estimators.register("name")``.
`tests/tasks/estimators/test_conformance.py` tests it from then on; ``cosqa study-kape`` compares it
with the others.
"""

from typing import ClassVar, Protocol

from infra.registry import Registry
from tasks.estimators._data import (
    MEASURES,
    Estimate,
    EstimationData,
    Floats,
    Measure,
    Neighbours,
    PairVectors,
    Positions,
    Ranks,
    check_vectors,
    measure_named,
    nearest,
    ranks_among,
)

__all__ = [
    "MEASURES",
    "Estimate",
    "EstimationData",
    "Estimator",
    "Floats",
    "Measure",
    "Neighbours",
    "PairVectors",
    "Positions",
    "Ranks",
    "check_vectors",
    "estimators",
    "measure_named",
    "nearest",
    "ranks_among",
]


class Estimator(Protocol):
    """A way to estimate scores with few labels, or none.

    Attributes:
        uses_labels: Whether it has test queries labelled, as many as the budget allows.
        is_stable: Whether the estimate is the same for every seed.
    """

    uses_labels: ClassVar[bool]
    is_stable: ClassVar[bool]

    def estimate(self, data: EstimationData, *, budget: int, seed: int) -> Estimate:
        """Return the ranks from which the scores over all test queries are estimated.

        Args:
            data: The test queries, and the labelled pairs that the model was trained on.
            budget: Most test queries to label, at least 1; ignored where no labels are used.
            seed: Of random choices; the same input and seed give the same estimate.

        Raises:
            EstimationError: There are no training pairs, or no test queries.
        """
        ...


estimators: Registry[type[Estimator]] = Registry(
    "estimator",
    "tasks.estimators",
    one_per_file=False,
)
