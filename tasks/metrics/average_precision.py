"""Mean average precision."""

from typing import ClassVar

import numpy as np

from tasks.metrics import Gains, metrics


@metrics.register("MAP")
class MAP:
    """Mean of the precision at each relevant code's rank, 0 for those not returned.

    Divided by the number of all relevant codes (trec_eval's map).
    """

    name: ClassVar[str] = "MAP"
    depth: ClassVar[int | None] = None

    def score(self, gains: Gains, ideal: Gains) -> Gains:
        """Return the average precision of each query."""
        relevant = gains > 0
        precision = relevant.cumsum(axis=1) / np.arange(1, gains.shape[1] + 1)
        values: Gains = (precision * relevant).sum(axis=1) / (ideal > 0).sum(axis=1)
        return values
