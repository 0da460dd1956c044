"""The estimators by random samples: of the test queries, and of the training pairs (KAPE, RQ1)."""

from typing import ClassVar

import numpy as np

from tasks.estimators import Estimate, EstimationData, estimators, ranks_among


@estimators.register("random-test")
class RandomTest:
    """Labels a simple random sample, and ranks its codes among themselves.

    The fewer codes there are, the higher they rank, so that a small sample's mean is far too high;
    `tasks.statistics.sampling` has the mean over a sample that is ranked among all codes.
    """

    uses_labels: ClassVar[bool] = True
    is_stable: ClassVar[bool] = False

    def estimate(self, data: EstimationData, *, budget: int, seed: int) -> Estimate:
        """Return the ranks of ``budget`` random queries."""
        total = len(data.queries)
        size = min(budget, total)
        chosen = np.random.default_rng(seed).choice(total, size, replace=False)
        return Estimate.of(data.label(np.sort(chosen)))


@estimators.register("random-training")
class RandomTraining:
    """Ranks as many random training pairs as there are test queries, all where they are fewer."""

    uses_labels: ClassVar[bool] = False
    is_stable: ClassVar[bool] = False

    def estimate(
        self,
        data: EstimationData,
        *,
        budget: int,  # noqa: ARG002 - it needs no labels
        seed: int,
    ) -> Estimate:
        """Return the ranks of random training pairs among themselves."""
        size = min(len(data.queries), len(data.training))
        chosen = np.random.default_rng(seed).choice(len(data.training), size, replace=False)
        return Estimate.of(ranks_among(data.training, np.sort(chosen)))
