"""Metrics of binary relevance: precision, recall, average precision, reciprocal ranks, bpref."""

from typing import ClassVar

import numpy as np

from tasks.metrics import JudgedLists, Metric, Values, metrics


@metrics.register("Precision")
class Precision(Metric):
    """Share of relevant codes among the first k results, k also where fewer came (trec_eval's P).

    See van Rijsbergen 1979, chapter 7.
    """

    needs_depth: ClassVar[bool] = True

    def __init__(self, depth: int | None) -> None:
        self.depth = depth or 1

    def score(self, lists: JudgedLists) -> Values:
        """Return the precision of each query."""
        values: Values = np.count_nonzero(lists.relevance, axis=1) / self.depth
        return values


@metrics.register("Recall")
class Recall(Metric):
    """Share of all relevant codes that are among the first k results (trec_eval's recall)."""

    needs_depth: ClassVar[bool] = True

    def score(self, lists: JudgedLists) -> Values:
        """Return the recall of each query."""
        values: Values = np.count_nonzero(lists.relevance, axis=1) / lists.relevant
        return values


@metrics.register("Answered")
class Answered(Metric):
    """1 where a relevant code is among the first k results, else 0.

    Answered@k of Neural Code Search (Li et al. 2019, arXiv 1908.09804), there a count of
    questions and here, as the mean, their share; trec_eval's success.
    """

    needs_depth: ClassVar[bool] = True

    def score(self, lists: JudgedLists) -> Values:
        """Return 1 or 0 for each query."""
        values: Values = np.where(lists.relevance.any(axis=1), 1.0, 0.0)
        return values


@metrics.register("MAP")
class MAP(Metric):
    """Mean of the precision at each relevant code's rank, 0 for those not returned.

    Divided by the number of all relevant codes, at any depth (trec_eval's map and map_cut; Buckley
    and Voorhees 2000).
    """

    def score(self, lists: JudgedLists) -> Values:
        """Return the average precision of each query."""
        relevant = lists.relevance > 0
        precision = relevant.cumsum(axis=1) / np.arange(1, relevant.shape[1] + 1)
        values: Values = (precision * relevant).sum(axis=1) / lists.relevant
        return values


@metrics.register("MAP-found")
class MAPFound(Metric):
    """Mean of the precision at the ranks of the relevant codes that are returned, 0 without any.

    Unlike MAP, it may be above recall: relevant codes that are not returned do not lower it.
    """

    def score(self, lists: JudgedLists) -> Values:
        """Return the average precision of each query over its relevant codes in the list."""
        relevant = lists.relevance > 0
        found = relevant.cumsum(axis=1)
        precision = found / np.arange(1, relevant.shape[1] + 1)
        values: Values = (precision * relevant).sum(axis=1) / np.maximum(relevant.sum(axis=1), 1)
        return values


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


@metrics.register("bpref")
class Bpref(Metric):
    """Share of judged irrelevant codes that are ranked below each relevant one, averaged.

    (1 / R) Σ (1 - min(n_r, R) / min(R, N)) over the returned relevant codes r, where n_r of the N
    codes judged irrelevant are ranked above r: unjudged results, and those with a grade below 0, do
    not matter (Buckley and Voorhees 2004, as corrected in trec_eval).
    """

    def score(self, lists: JudgedLists) -> Values:
        """Return the preference of each query."""
        relevant = lists.relevance > 0
        above = (lists.judged & ~relevant).cumsum(axis=1)
        most = lists.relevant[:, None]
        scale = np.maximum(np.minimum(most, lists.irrelevant[:, None]), 1)
        kept = relevant * (1 - np.minimum(above, most) / scale)
        values: Values = kept.sum(axis=1) / lists.relevant
        return values
