"""Precision at a depth, average precision (MAP), and bpref."""

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
