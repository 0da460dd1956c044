"""Mean reciprocal rank."""

from typing import ClassVar

import numpy as np

from tasks.metrics import Gains, metrics


@metrics.register("MRR")
class MRR:
    """1 / rank of the first relevant result, 0 where there is none (trec_eval's recip_rank)."""

    name: ClassVar[str] = "MRR"
    depth: ClassVar[int | None] = None

    def score(self, gains: Gains, ideal: Gains) -> Gains:  # noqa: ARG002 - the protocol's
        """Return the reciprocal rank of each query."""
        if not gains.shape[1]:
            return np.zeros(len(gains))
        relevant = gains > 0
        values: Gains = relevant.any(axis=1) / (relevant.argmax(axis=1) + 1.0)
        return values
