"""What the estimators share that label the queries of which the model is least certain.

KAPE takes them from classification: a query's classes are its ten best training codes, and their
probabilities the softmax of its similarities to them (`EstimationData.probabilities`).
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tasks.estimators import Estimate, EstimationData
from tasks.statistics import Values


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
