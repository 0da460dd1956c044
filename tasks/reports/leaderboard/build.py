"""The leaderboard of one benchmark: means with intervals, and which differences are significant."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np

from infra.records import Query, Record
from tasks.benchmarks import Benchmark
from tasks.metrics import mean
from tasks.reports.leaderboard.consistency import Consistency, consistency
from tasks.statistics.comparisons import compare
from tasks.statistics.intervals import bootstrap_interval

METRICS = ("NDCG@10", "MRR", "MAP", "MMRR", "Recall@10", "Answered@5")
RECALL_DEPTHS = (1, 2, 5, 10, 20, 50, 100)
_SIGNIFICANT = 0.05
_HARDEST = 20


class Cell(Record):
    """A method's mean in a metric, its interval, and the letters of the methods that it surpasses.

    A method surpasses another whose mean is significantly lower.
    """

    mean: float
    low: float
    high: float
    surpasses: str = ""


class MethodRow(Record):
    """A method's row.

    Attributes:
        letter: The letter by which other rows refer to it.
        cells: Metric → figures.
        recall: Depth → mean recall.
        judged: Share of its first 10 results that are judged.
    """

    letter: str
    method: str
    cells: dict[str, Cell]
    recall: dict[int, float]
    judged: float


class HardQuery(Record):
    """A query with low scores: the best and the mean value of the methods in the first metric."""

    query_id: str
    text: str
    relevant: int
    best: float
    mean: float


class Leaderboard(Record):
    """Scores of methods on one benchmark, sorted by the first metric, best first.

    Attributes:
        fingerprint: Checksum of the benchmark's queries, codes and labels.
        scored: Queries with a relevant code, over which means are taken.
        level: Level of the confidence intervals.
        depth: Length of the rankings.
        consistency: How each metric treats queries with many relevant codes, where there are such.
    """

    benchmark: str
    fingerprint: str
    label_origin: str
    queries: int
    scored: int
    codes: int
    labels: int
    level: float
    depth: int
    metrics: tuple[str, ...]
    rows: tuple[MethodRow, ...]
    hardest: tuple[HardQuery, ...]
    consistency: tuple[Consistency, ...] = ()


@dataclass(frozen=True)
class MethodScores:
    """The values of one method.

    Attributes:
        values: Metric → query → value, recall at `RECALL_DEPTHS` among them.
        judged: Share of its first 10 results that are judged.
    """

    method: str
    values: Mapping[str, Mapping[str, float]]
    judged: float


def build_leaderboard(
    benchmark: Benchmark,
    fingerprint: str,
    scores: Sequence[MethodScores],
    metrics: Sequence[str],
    depth: int,
) -> Leaderboard:
    """Return the leaderboard of methods on a benchmark.

    Differences are tested pairwise by randomisation and corrected for the number of pairs by
    Holm's procedure within each metric; a method surpasses another where p < 0.05.
    """
    first = metrics[0]
    ranked = sorted(scores, key=lambda entry: (-mean(_array(entry.values[first])), entry.method))
    letters = {entry.method: _letter(place) for place, entry in enumerate(ranked)}
    cells = {metric: _cells(ranked, metric, letters) for metric in metrics}
    return Leaderboard(
        benchmark=benchmark.name,
        fingerprint=fingerprint,
        label_origin=benchmark.label_origin,
        queries=len(benchmark.queries),
        scored=len(ranked[0].values[first]) if ranked else 0,
        codes=len(benchmark.codes),
        labels=len(benchmark.labels),
        level=0.95,
        depth=depth,
        metrics=tuple(metrics),
        rows=tuple(
            MethodRow(
                letter=letters[entry.method],
                method=entry.method,
                cells={metric: cells[metric][entry.method] for metric in metrics},
                recall={d: mean(_array(entry.values[f"Recall@{d}"])) for d in RECALL_DEPTHS},
                judged=entry.judged,
            )
            for entry in ranked
        ),
        hardest=_hardest(benchmark, ranked, first),
        consistency=consistency(
            {entry.method: entry.values for entry in ranked}, _matches(benchmark), metrics
        ),
    )


def _cells(
    scores: Sequence[MethodScores], metric: str, letters: Mapping[str, str]
) -> dict[str, Cell]:
    values = {entry.method: _array(entry.values[metric]) for entry in scores}
    surpassed: dict[str, list[str]] = {method: [] for method in values}
    for comparison in compare(values):
        if comparison.corrected < _SIGNIFICANT:
            surpassed[comparison.better].append(letters[comparison.worse])
    cells = {}
    for method, by_query in values.items():
        interval = bootstrap_interval(by_query)
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
    table = np.array([[entry.values[metric][query] for query in queries] for entry in scores])
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


def _letter(place: int) -> str:
    """Return a, b, ... z, aa, ab, ..."""
    before, last = divmod(place, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]
