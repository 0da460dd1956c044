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
        highest = _highest(lists)
        ideal = lists.ideal[:, : self.depth]
        return _dcg(lists.relevance / highest) / _dcg(ideal / highest)


@metrics.register("NDCG-exp")
class ExponentialNDCG(Metric):
    """NDCG with 2^relevance - 1 as the gain (Burges et al. 2005; CodeSearchNet's challenge)."""

    def score(self, lists: JudgedLists) -> Values:
        """Return NDCG of each query."""
        highest = _highest(lists)
        ideal = lists.ideal[:, : self.depth]
        return _dcg(_scaled(lists.relevance, highest)) / _dcg(_scaled(ideal, highest))


def _highest(lists: JudgedLists) -> Values:
    """Return (queries, 1) each query's highest grade; gains are shares of its gain.

    So no sum of gains is infinite.
    """
    grades: Values = lists.ideal.max(axis=1, keepdims=True, initial=0.0)  # also of no query at all
    return grades


def _scaled(relevance: Values, highest: Values) -> Values:
    """Return 2^-highest times the gains; the gains themselves are infinite from 1024 on.

    2^-highest (2^r - 1) = 2^(r - highest) (1 - 2^-r), which for small r too is above 0.
    """
    gains: Values = np.exp2(relevance - highest) * -np.expm1(-relevance * np.log(2))
    return gains


def _dcg(gains: Values) -> Values:
    discounts = 1.0 / np.log2(np.arange(2, gains.shape[1] + 2))
    summed: Values = gains @ discounts
    return summed
