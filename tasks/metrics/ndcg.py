"""Normalised discounted cumulative gain."""

from typing import ClassVar

import numpy as np

from tasks.metrics import JudgedLists, Values, metrics


@metrics.register("NDCG")
class NDCG:
    """DCG of the results over that of the best possible ranking of the same depth.

    DCG = Σ gain_i / log2(i + 1) with the relevance itself as the gain (Järvelin and Kekäläinen
    2002, with the discount of trec_eval's ndcg and ndcg_cut).
    """

    needs_depth: ClassVar[bool] = False

    def __init__(self, depth: int | None) -> None:
        self.depth = depth

    def score(self, lists: JudgedLists) -> Values:
        """Return NDCG of each query."""
        return _dcg(lists.relevance) / _dcg(lists.ideal[:, : self.depth])


@metrics.register("NDCG-exp")
class ExponentialNDCG:
    """NDCG with 2^relevance - 1 as the gain (Burges et al. 2005; CodeSearchNet's challenge)."""

    needs_depth: ClassVar[bool] = False

    def __init__(self, depth: int | None) -> None:
        self.depth = depth

    def score(self, lists: JudgedLists) -> Values:
        """Return NDCG of each query."""
        ideal = np.exp2(lists.ideal[:, : self.depth]) - 1
        return _dcg(np.exp2(lists.relevance) - 1) / _dcg(ideal)


def _dcg(gains: Values) -> Values:
    discounts = 1.0 / np.log2(np.arange(2, gains.shape[1] + 2))
    summed: Values = gains @ discounts
    return summed
