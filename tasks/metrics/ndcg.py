"""Normalised discounted cumulative gain."""

from typing import ClassVar

import numpy as np

from tasks.metrics import Gains, metrics


@metrics.register("NDCG@10")
class NDCG10:
    """DCG of the first 10 results over that of the best possible ranking.

    DCG = Σ gain_i / log2(i + 1) with the relevance itself as the gain (linear; Järvelin and
    Kekäläinen 2002 with the discount of trec_eval's ndcg_cut).
    """

    name: ClassVar[str] = "NDCG@10"
    depth: ClassVar[int | None] = 10

    def score(self, gains: Gains, ideal: Gains) -> Gains:
        """Return NDCG of each query."""
        return _dcg(gains) / _dcg(ideal[:, : self.depth])


def _dcg(gains: Gains) -> Gains:
    discounts = 1.0 / np.log2(np.arange(2, gains.shape[1] + 2))
    summed: Gains = gains @ discounts
    return summed
