"""Recall, and whether any relevant code was returned."""

from typing import ClassVar

import numpy as np

from tasks.metrics import JudgedLists, Metric, Values, metrics


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
