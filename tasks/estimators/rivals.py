"""KAPE's rivals: random samples, and the queries of which the model is least certain (KAPE, RQ1).

Uncertainty KAPE takes from classification: a query's classes are its ten best training codes, and
their probabilities the softmax of its similarities to them (`EstimationData.probabilities`).
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tasks.estimators import Estimate, EstimationData, estimators, ranks_among
from tasks.statistics import Values


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


class LabelsUncertain(ABC):
    """Labels the queries with the highest uncertainty, and ranks their codes among themselves.

    Equally uncertain queries are taken in their order. Identical queries are equally uncertain, so
    that they fill a small budget together; each of s identical queries ranks the s codes the same
    way, which makes the MRR of that budget (1 + 1/2 + … + 1/s) / s.
    """

    uses_labels: ClassVar[bool] = True
    is_stable: ClassVar[bool] = True

    @abstractmethod
    def uncertainty(self, probabilities: Values) -> Values:
        """Return (n,) how uncertain the model is of each query.

        Args:
            probabilities: (n, classes) falling in each row; 10 classes, fewer where there are fewer
                training codes.
        """

    def estimate(
        self,
        data: EstimationData,
        *,
        budget: int,
        seed: int,  # noqa: ARG002 - nothing is left to chance
    ) -> Estimate:
        """Return the ranks of the ``budget`` most uncertain queries."""
        order = np.argsort(-self.uncertainty(data.probabilities), kind="stable")
        chosen = np.sort(order[:budget])
        return Estimate.of(data.label(chosen))


@estimators.register("deepgini")
class DeepGini(LabelsUncertain):
    """Labels the queries with the highest 1 - Σp² over their ten best codes.

    Source: Feng et al., "DeepGini: Prioritizing Massive Tests to Enhance the Robustness of Deep
    Neural Networks", ISSTA 2020, section 3.
    """

    def uncertainty(self, probabilities: Values) -> Values:
        """Return 1 - Σp²."""
        impurity: Values = 1 - np.square(probabilities).sum(axis=1)
        return impurity


@estimators.register("least-confidence")
class LeastConfidence(LabelsUncertain):
    """Labels the queries with the lowest probability of the best of their ten best codes.

    Source: Lewis and Gale, "A Sequential Algorithm for Training Text Classifiers", SIGIR 1994.
    """

    def uncertainty(self, probabilities: Values) -> Values:
        """Return -max p."""
        return -probabilities[:, 0]


@estimators.register("margin")
class Margin(LabelsUncertain):
    """Labels the queries with the smallest difference between their two best codes' probabilities.

    Where there is one training code, all queries have the same margin. Source: Scheffer et al.,
    "Active Hidden Markov Models for Information Extraction", IDA 2001.
    """

    def uncertainty(self, probabilities: Values) -> Values:
        """Return -(p₁ - p₂)."""
        nearness: Values = probabilities[:, 1:2].sum(axis=1) - probabilities[:, 0]
        return nearness


@estimators.register("max-entropy")
class MaxEntropy(LabelsUncertain):
    """Labels the queries with the highest entropy -Σ p ln p over their ten best codes.

    Source: Shannon, "A Mathematical Theory of Communication", 1948; as a criterion Settles, "Active
    Learning Literature Survey", 2009, section 3.1.
    """

    def uncertainty(self, probabilities: Values) -> Values:
        """Return -Σ p ln p, all p being above 0."""
        entropy: Values = -(probabilities * np.log(probabilities)).sum(axis=1)
        return entropy
