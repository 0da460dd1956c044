"""Reciprocal ranks: MRR of the first relevant result, MMRR of all of them."""

import numpy as np

from tasks.metrics import JudgedLists, Metric, Values, metrics


@metrics.register("MRR")
class MRR(Metric):
    """1 / rank of the first relevant result, 0 where there is none (trec_eval's recip_rank)."""

    def score(self, lists: JudgedLists) -> Values:
        """Return the reciprocal rank of each query."""
        if not lists.relevance.shape[1]:
            return np.zeros(len(lists.query_ids))
        relevant = lists.relevance > 0
        values: Values = relevant.any(axis=1) / (relevant.argmax(axis=1) + 1.0)
        return values


@metrics.register("MMRR")
class MMRR(Metric):
    """Mean over a query's relevant codes of 1 / (rank_i - (i - 1)), 0 for those not returned.

    Mean multi-choice reciprocal rank (CoSQA+, arXiv 2406.11589v1, section 4.3 and appendix B):
    rank_i is the i-th smallest rank of a relevant code. Taking i - 1 off each rank makes a list
    that begins with all of a query's n relevant codes worth 1 for any n.
    """

    def score(self, lists: JudgedLists) -> Values:
        """Return the mean adjusted reciprocal rank of each query."""
        relevant = lists.relevance > 0
        ranks = np.arange(1, relevant.shape[1] + 1)
        adjusted = ranks - (relevant.cumsum(axis=1) - relevant)
        values: Values = (relevant / adjusted).sum(axis=1) / lists.relevant
        return values
