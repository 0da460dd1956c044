"""The table's content: means with intervals, and which differences are more than chance."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np

from infra.records import Query, Record
from tasks.benchmarks import Benchmark
from tasks.reports.leaderboard.consistency import Consistency, consistency
from tasks.statistics.comparisons import compare
from tasks.statistics.intervals import bootstrap_interval

METRICS = ("NDCG@10", "MRR", "MAP", "MMRR", "Recall@10", "Answered@5")
RECALL_DEPTHS = (1, 2, 5, 10, 20, 50, 100)
_SIGNIFICANT = 0.05
_HARDEST = 20


class Cell(Record):
    """A method's mean in a metric, its interval, and the letters of the methods it surpasses."""

    mean: float
    low: float
    high: float
    surpasses: str = ""


class Standing(Record):
    """A method's row.

    Attributes:
        letter: By which other rows name it.
        method: Its name.
        cells: Metric → figures.
        recall: Depth → mean recall.
        judged: Share of its first 10 results that somebody judged.
    """

    letter: str
    method: str
    cells: dict[str, Cell]
    recall: dict[int, float]
    judged: float


class HardQuery(Record):
    """A query on which the methods do badly: the best and the mean value of the first metric."""

    query_id: str
    text: str
    relevant: int
    best: float
    mean: float


class Leaderboard(Record):
    """Methods over one benchmark, the best of the first metric first.

    Attributes:
        fingerprint: Which benchmark, to the last label.
        scored: Queries with a relevant code, over which means are taken.
        level: Of the confidence intervals.
        depth: Length of the rankings.
        consistency: How each metric treats queries with many matches, where there are such.
    """

    benchmark: str
    fingerprint: str
    label_origin: str
    demo: bool
    queries: int
    scored: int
    codes: int
    labels: int
    level: float
    depth: int
    metrics: tuple[str, ...]
    standings: tuple[Standing, ...]
    hardest: tuple[HardQuery, ...]
    consistency: tuple[Consistency, ...] = ()


@dataclass(frozen=True)
class MethodScores:
    """What one method got.

    Attributes:
        method: Its name.
        values: Metric → query → value, recall at `RECALL_DEPTHS` among them.
        judged: Share of its first 10 results that somebody judged.
    """

    method: str
    values: Mapping[str, Mapping[str, float]]
    judged: float


def stand(
    benchmark: Benchmark,
    fingerprint: str,
    scores: Sequence[MethodScores],
    metrics: Sequence[str],
    depth: int,
) -> Leaderboard:
    """Return the methods side by side.

    Differences are tested pairwise by randomisation and corrected for the number of pairs by
    Holm's procedure, each metric for itself; a method surpasses another where p < 0.05.
    """
    first = metrics[0]
    ranked = sorted(scores, key=lambda each: (-_mean(each.values[first]), each.method))
    letters = {each.method: _letter(place) for place, each in enumerate(ranked)}
    cells = {metric: _cells(ranked, metric, letters) for metric in metrics}
    return Leaderboard(
        benchmark=benchmark.name,
        fingerprint=fingerprint,
        label_origin=benchmark.label_origin,
        demo=benchmark.demo,
        queries=len(benchmark.queries),
        scored=len(ranked[0].values[first]) if ranked else 0,
        codes=len(benchmark.codes),
        labels=len(benchmark.labels),
        level=0.95,
        depth=depth,
        metrics=tuple(metrics),
        standings=tuple(
            Standing(
                letter=letters[each.method],
                method=each.method,
                cells={metric: cells[metric][each.method] for metric in metrics},
                recall={d: _mean(each.values[f"Recall@{d}"]) for d in RECALL_DEPTHS},
                judged=each.judged,
            )
            for each in ranked
        ),
        hardest=_hardest(benchmark, ranked, first),
        consistency=consistency(
            {each.method: each.values for each in ranked}, _matches(benchmark), metrics
        ),
    )


def _cells(
    scores: Sequence[MethodScores], metric: str, letters: Mapping[str, str]
) -> dict[str, Cell]:
    values = {each.method: _array(each.values[metric]) for each in scores}
    surpassed: dict[str, list[str]] = {method: [] for method in values}
    for comparison in compare(values):
        if comparison.corrected < _SIGNIFICANT:
            surpassed[comparison.better].append(letters[comparison.worse])
    cells = {}
    for method, of_method in values.items():
        interval = bootstrap_interval(of_method)
        cells[method] = Cell(
            mean=interval.mean,
            low=interval.low,
            high=interval.high,
            surpasses=" ".join(sorted(surpassed[method], key=lambda letter: (len(letter), letter))),
        )
    return cells


def _hardest(
    benchmark: Benchmark, scores: Sequence[MethodScores], metric: str
) -> tuple[HardQuery, ...]:
    if not scores:
        return ()
    texts: dict[str, Query] = {query.query_id: query for query in benchmark.queries}
    relevant = _matches(benchmark)
    queries = sorted(scores[0].values[metric])
    table = np.array([[each.values[metric][query] for query in queries] for each in scores])
    order = np.lexsort((queries, table.mean(axis=0), table.max(axis=0)))[:_HARDEST]
    return tuple(
        HardQuery(
            query_id=queries[place],
            text=texts[queries[place]].text,
            relevant=relevant[queries[place]],
            best=float(table[:, place].max()),
            mean=float(table[:, place].mean()),
        )
        for place in order.tolist()
    )


def _matches(benchmark: Benchmark) -> Counter[str]:
    return Counter(label.query_id for label in benchmark.labels if label.relevance > 0)


def _array(values: Mapping[str, float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([values[query] for query in sorted(values)], np.float64)


def _mean(values: Mapping[str, float]) -> float:
    return float(_array(values).mean()) if values else 0.0


def _letter(place: int) -> str:
    """Return a, b, ... z, aa, ab, ..."""
    before, last = divmod(place, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]
