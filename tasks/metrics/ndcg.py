"""Normalised discounted cumulative gain."""

import numpy as np

from tasks.metrics import JudgedLists, Metric, Values, metrics


@metrics.register("NDCG")
class NDCG(Metric):
    """DCG of the results over that of the best possible ranking of the same depth.

    DCG = Σ gain_i / log2(i + 1) with the relevance itself as the gain (Järvelin and Kekäläinen
    2002, with the discount of trec_eval's ndcg and ndcg_cut).
    """

    def score(self, lists: JudgedLists) -> Values:
        """Return NDCG of each query."""
        highest = lists.ideal.max(axis=1, keepdims=True, initial=0.0)  # also of no query at all
        found, ideal = (
            self._gains(relevance, highest) @ (1.0 / np.log2(np.arange(2, relevance.shape[1] + 2)))
            for relevance in (lists.relevance, lists.ideal[:, : self.depth])
        )
        values: Values = found / ideal
        return values

    def _gains(self, relevance: Values, highest: Values) -> Values:
        """Return gains as shares of the gain of a query's highest grade: no sum is infinite."""
        return relevance / highest


@metrics.register("NDCG-exp")
class ExponentialNDCG(NDCG):
    """NDCG with 2^relevance - 1 as the gain (Burges et al. 2005; CodeSearchNet's challenge)."""

    def _gains(self, relevance: Values, highest: Values) -> Values:
        """Return 2^-highest times the gains; the gains themselves are infinite from 1024 on.

        2^-highest (2^r - 1) = 2^(r - highest) (1 - 2^-r), which for small r too is above 0.
        """
        gains: Values = np.exp2(relevance - highest) * -np.expm1(-relevance * np.log(2))
        return gains
