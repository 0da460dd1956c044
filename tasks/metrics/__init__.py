"""Metrics of retrieval: per query first, the mean after.

To add one, write a file with a class that has a ``name`` (with its variant), a ``depth`` (how much
of a ranking it looks at, None for all of it) and ``score``, and decorate it with
``@metrics.register(name)``. `tests/tasks/metrics` judges it from then on.

What all have in common, and their names need not repeat: results nobody judged count as not
relevant; a query without a relevant code is left out, since no ranking could do well on it; a query
with relevant codes but an empty ranking scores 0.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from infra.registry import Registry
from tasks.retrievers.rankings import Rankings

Gains = npt.NDArray[np.float64]
Qrels = Mapping[str, Mapping[str, float]]


class Metric(Protocol):
    """A measure of ranked lists.

    Attributes:
        name: What is printed, with the variant.
        depth: How many results it looks at, None for all.
    """

    name: ClassVar[str]
    depth: ClassVar[int | None]

    def score(self, gains: Gains, ideal: Gains) -> Gains:
        """Return one value in [0, 1] for each query.

        Args:
            gains: (queries, ranks) relevance of what was returned, best first; 0 where nothing
                was, or nobody judged it.
            ideal: (queries, most relevant codes of any query) all positive relevances of each
                query in falling order, padded with 0.
        """
        ...


metrics: Registry[type[Metric]] = Registry("metric", "tasks.metrics")


def evaluate(rankings: Rankings, qrels: Qrels, names: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return metric → query → value.

    Args:
        rankings: What a method returned.
        qrels: Query → code → relevance; 0 or less is not relevant.
        names: Registered metrics.

    Raises:
        UnknownNameError: There is no such metric.
    """
    query_ids = sorted(query for query, of in qrels.items() if any(r > 0 for r in of.values()))
    gains, ideal = _gains(rankings, qrels, query_ids), _ideal(qrels, query_ids)
    scored = {}
    for name in names:
        metric = metrics.get(name)()
        values = metric.score(gains[:, : metric.depth], ideal)
        scored[metric.name] = dict(zip(query_ids, values.tolist(), strict=True))
    return scored


def _gains(rankings: Rankings, qrels: Qrels, query_ids: list[str]) -> Gains:
    row_of = {query: row for row, query in enumerate(rankings.query_ids)}
    column_of = {code: column for column, code in enumerate(rankings.code_ids)}
    gains = np.zeros((len(query_ids), rankings.depth))
    for row, query in enumerate(query_ids):
        if query not in row_of:
            continue
        ranked = rankings.codes[row_of[query]]
        for code, relevance in qrels[query].items():
            if relevance > 0 and code in column_of:
                gains[row, ranked == column_of[code]] = relevance
    return gains


def _ideal(qrels: Qrels, query_ids: list[str]) -> Gains:
    relevant = [sorted((r for r in qrels[q].values() if r > 0), reverse=True) for q in query_ids]
    width = max((len(values) for values in relevant), default=0)
    ideal = np.zeros((len(query_ids), width))
    for row, values in enumerate(relevant):
        ideal[row, : len(values)] = values
    return ideal
