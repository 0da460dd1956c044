"""Metrics of retrieval: per query first, the mean after.

A metric's name says its variant: ``NDCG-exp-condensed@10`` is the family ``NDCG-exp`` over
condensed lists, cut at 10.

To add a family, write a file (of any name) with a subclass of `Metric` that has ``score(lists)``,
where ``lists.relevance`` is a (queries, ranks) array, best result first (`_lists.JudgedLists`), and
sets ``needs_depth`` where the name must say a cut-off. Decorate it with
``@metrics.register("Name")``; ``Recall`` in ``binary.py`` is the shortest example.
`tests/tasks/metrics/test_conformance.py` tests it from then on; ``cosqa leaderboard --metric``
takes it. ``cosqa evaluate`` prints `STANDARD`.

What a name does not say is the same for all:

- unjudged results, and those with a grade below 0, count as not relevant; with ``-condensed`` they
  are removed first;
- a query without a relevant code is left out, since no ranking could do well on it; with ``-zero``
  it scores 0 and counts in the mean;
- a query with relevant codes but an empty ranking scores 0;
- ties are broken by the rankings, by id in ascending order. trec_eval breaks them in descending
  order and in single precision, and ranx by the order of its input; so neither computes these
  values.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from infra.errors import UnknownNameError
from infra.registry import Registry
from tasks.benchmarks.runs import Qrels, QrelsTable, Rankings
from tasks.metrics._lists import JudgedLists
from tasks.statistics import Values

__all__ = [
    "STANDARD",
    "JudgedLists",
    "Metric",
    "Qrels",
    "QrelsTable",
    "Values",
    "Variant",
    "evaluate",
    "mean",
    "metrics",
]

STANDARD = ("MAP", "MRR", "NDCG@10", "Recall@10")

_NAME = re.compile(
    r"(?P<family>.+?)(?P<condensed>-condensed)?(?P<zero>-zero)?(@(?P<depth>[1-9][0-9]*))?"
)


class Metric:
    """A measure of ranked lists.

    Attributes:
        needs_depth: Whether its name must say where it cuts the lists.
        depth: How many results it looks at, None for all.
    """

    needs_depth: ClassVar[bool] = False

    def __init__(self, depth: int | None) -> None:
        self.depth = depth

    def score(self, lists: JudgedLists) -> Values:
        """Return one value in [0, 1] for each row of the lists, which are cut already."""
        raise NotImplementedError


metrics: Registry[type[Metric]] = Registry("metric", "tasks.metrics", one_per_file=False)


@dataclass(frozen=True)
class Variant:
    """The parsed name of a metric.

    Attributes:
        family: A registered metric.
        condensed: Whether unjudged results are removed first.
        zero: Whether queries without a relevant code score 0; otherwise they are left out.
        depth: How many results count, None for all.
    """

    family: str
    condensed: bool = False
    zero: bool = False
    depth: int | None = None

    @classmethod
    def parse(cls, name: str) -> "Variant":
        """Return the metric named by ``NDCG@10``, ``MRR``, ``MAP-condensed-zero@100`` and the like.

        Raises:
            UnknownNameError: There is no such metric, or its name lacks the depth that it needs.
        """
        match = _NAME.fullmatch(name)
        family = match["family"] if match else name
        metric = metrics.get(family)
        depth = int(match["depth"]) if match and match["depth"] else None
        if metric.needs_depth and depth is None:
            raise UnknownNameError(f"{name!r} does not say its depth: write {name}@10 or the like")
        return cls(family, bool(match and match["condensed"]), bool(match and match["zero"]), depth)

    def score(self, lists: JudgedLists) -> Values:
        """Return one value for each row of the lists."""
        lists = (lists.condensed() if self.condensed else lists).cut(self.depth)
        return metrics.get(self.family)(self.depth).score(lists)


def evaluate(
    rankings: Rankings, qrels: Qrels | QrelsTable, names: Iterable[str]
) -> dict[str, dict[str, float]]:
    """Return metric → query → value.

    Args:
        rankings: What a method returned.
        qrels: Query → code → relevance, or the same as columns; 0 or less is not relevant.
        names: Names of metrics with their variants.

    Raises:
        UnknownNameError: There is no such metric.
    """
    variants = {name: Variant.parse(name) for name in names}
    table = qrels if isinstance(qrels, QrelsTable) else QrelsTable.of(qrels)
    lists = JudgedLists.of(rankings, table)
    found = {}
    for name, variant in variants.items():
        scored = zip(lists.query_ids, variant.score(lists).tolist(), strict=True)
        others = lists.without_relevant if variant.zero else ()
        found[name] = {**dict(scored), **dict.fromkeys(others, 0.0)}
    return found


def mean(values: Iterable[float]) -> float:
    """Return the mean over queries, 0 where there are none."""
    array = np.fromiter(values, np.float64)
    return float(array.mean()) if array.size else 0.0
