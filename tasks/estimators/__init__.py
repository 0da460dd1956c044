"""Estimators of a retrieval model's score on queries that are mostly unlabelled, one file each.

To add one, write a file with a class that is made without arguments and has ``estimate``, and
decorate it with ``@estimators.register("name")``, the name being that of the file with dashes for
underscores. `tests/tasks/estimators/test_conformance.py` tests it from then on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from infra.registry import Registry
from tasks.encoders import Vectors
from tasks.statistics import Values

__all__ = ["Estimate", "Estimator", "TrainingPairs", "UnlabelledQueries", "Values", "estimators"]


@dataclass(frozen=True)
class TrainingPairs:
    """Labelled pairs that the model was trained on, as it embeds them.

    Attributes:
        queries: (pairs, d) unit vectors.
        codes: (pairs, d) unit vectors; each row answers the query of the same row.
    """

    queries: Vectors
    codes: Vectors


@dataclass(frozen=True)
class UnlabelledQueries:
    """The test queries, whose mean score is estimated.

    Attributes:
        vectors: (queries, d) unit vectors.
        score: Positions of queries → (positions,) the metric's values in [0, 1], for which
            these queries have to be labelled.
    """

    vectors: Vectors
    score: Callable[[Sequence[int]], Values]


@dataclass(frozen=True)
class Estimate:
    """An estimated mean over the test queries.

    Attributes:
        value: The estimate.
        low: Lower end of its confidence interval; the value itself where there is none.
        high: Its upper end.
        labelled: Number of test queries that were labelled for it.
    """

    value: float
    low: float
    high: float
    labelled: int


class Estimator(Protocol):
    """A way to estimate a score with few labels, or none."""

    def estimate(
        self, queries: UnlabelledQueries, training: TrainingPairs, *, budget: int, seed: int
    ) -> Estimate:
        """Return an estimate of the mean score over all test queries.

        Args:
            queries: The test queries.
            training: What may be used without labels for the test queries.
            budget: Most test queries to label, at least 1; an estimator may do without.
            seed: Of what chance decides; the same input and seed give the same estimate.
        """
        ...


estimators: Registry[type[Estimator]] = Registry(
    "estimator", "tasks.estimators", members=("estimate",)
)
