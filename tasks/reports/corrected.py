"""A leaderboard's scores and share of matches, corrected by people's labels of a random sample.

The agents label all pairs and may err; people label a random sample. PPI++ takes from the first
what is certain of all pairs and from the second how far the labels are off: its intervals hold the
scores that people's labels of all pairs would give.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from infra.records import Record
from tasks.benchmarks.runs import Rankings
from tasks.metrics import Qrels, evaluate
from tasks.reports.document import Section, Table
from tasks.statistics import Values
from tasks.statistics.intervals import Interval
from tasks.statistics.label_errors import corrected_mean
from tasks.statistics.sampling import DIFFERENCES

MIN_SAMPLED = 10  # below, an interval is as good as the whole scale


@dataclass(frozen=True)
class PeopleLabels:
    """People's labels of random samples of a benchmark's pairs.

    Attributes:
        queries: Query → code → relevance of randomly sampled queries, all of whose pairs have one.
        pairs: Query → code → relevance of randomly sampled pairs.
    """

    queries: Qrels
    pairs: Qrels


class CorrectedFigure(Record):
    """A figure by the benchmark's labels, and corrected by people's.

    Attributes:
        name: Metric and method, two methods whose difference it is, or "share of matches".
        by_labels: By the benchmark's labels alone.
        mean: Corrected.
        low: Lower end of its 95% interval.
        high: Upper end.
    """

    name: str
    by_labels: float
    mean: float
    low: float
    high: float


class CorrectedScores(Record):
    """A leaderboard corrected by people's labels.

    Attributes:
        queries: Queries with labels.
        sampled_queries: Those of which people labelled all pairs.
        pairs: Labelled pairs.
        sampled_pairs: Those that people labelled as a random sample of pairs.
        figures: For each metric the methods' means and their differences from the first method,
            then the share of matches.
    """

    queries: int
    sampled_queries: int
    pairs: int
    sampled_pairs: int
    figures: tuple[CorrectedFigure, ...]


def corrected_scores(
    rankings: Mapping[str, Rankings],
    values: Mapping[str, Mapping[str, Mapping[str, float]]],
    qrels: Qrels,
    people: PeopleLabels,
    metrics: Sequence[str],
) -> CorrectedScores | None:
    """Return scores and share of matches corrected by people's labels; None without enough of them.

    A query without a match scores 0: by which labels it has none must not decide who is counted.

    Args:
        rankings: Method → its rankings, the best method first.
        values: Method → metric → query → its value by the benchmark's labels.
        qrels: The benchmark's labels.
        people: People's, of random samples.
        metrics: The metrics.
    """
    queries = {
        query: people.queries[query]
        for query in sorted(qrels.keys() & people.queries.keys())
        if qrels[query].keys() <= people.queries[query].keys()
    }
    labels = {(query, code): value for query, of in qrels.items() for code, value in of.items()}
    pairs = {
        (query, code): value
        for query, of in people.pairs.items()
        for code, value in of.items()
        if (query, code) in labels
    }
    figures: list[CorrectedFigure] = []
    if len(queries) >= MIN_SAMPLED:
        for metric in metrics:
            by_labels = {method: values[method][metric] for method in rankings}
            figures += _corrected_metric(metric, rankings, by_labels, queries, len(qrels))
    if len(pairs) >= MIN_SAMPLED:
        true = np.array([value > 0 for value in pairs.values()], np.float64)
        labelled = np.array([labels[pair] > 0 for pair in pairs], np.float64)
        share = sum(value > 0 for value in labels.values()) / len(labels)
        found = corrected_mean(true, labelled, share, len(labels))
        figures.append(_figure("share of matches", share, found))
    if not figures:
        return None
    return CorrectedScores(
        queries=len(qrels), sampled_queries=len(queries), pairs=len(labels),
        sampled_pairs=len(pairs), figures=tuple(figures),
    )  # fmt: skip


def _corrected_metric(
    metric: str,
    rankings: Mapping[str, Rankings],
    values: Mapping[str, Mapping[str, float]],
    sampled: Qrels,
    queries: int,
) -> Iterator[CorrectedFigure]:
    """Yield the corrected mean of each method, then the differences from the first one."""
    true: dict[str, Values] = {}
    labelled: dict[str, Values] = {}
    means: dict[str, float] = {}
    for method, ranked in rankings.items():
        by_people = evaluate(ranked, sampled, [metric])[metric]
        true[method] = np.array([by_people.get(query, 0.0) for query in sampled])
        labelled[method] = np.array([values[method].get(query, 0.0) for query in sampled])
        means[method] = sum(values[method].values()) / queries
        error = float(true[method].std())
        found = corrected_mean(true[method], labelled[method], means[method], queries, error=error)
        yield _figure(f"{metric}, {method}", means[method], found)
    best, *others = rankings or [""]
    for method in others:
        gap = means[best] - means[method]
        gaps = true[best] - true[method]
        found = corrected_mean(
            gaps, labelled[best] - labelled[method], gap, queries,
            scale=DIFFERENCES, error=float(gaps.std()),
        )  # fmt: skip
        yield _figure(f"{metric}, {best} - {method}", gap, found)


def _figure(name: str, by_labels: float, found: Interval) -> CorrectedFigure:
    return CorrectedFigure(
        name=name, by_labels=by_labels, mean=found.mean, low=found.low, high=found.high
    )


def corrected_table(corrected: CorrectedScores) -> Table:
    """Return a row for each figure."""
    rows = [
        (each.name, *(f"{value:.3f}" for value in (each.by_labels, each.mean, each.low, each.high)))
        for each in corrected.figures
    ]
    return Table(("figure", "by labels", "corrected", "from", "to"), rows)


def corrected_section(corrected: CorrectedScores) -> Section:
    """Return the section of a leaderboard that shows them."""
    about = (
        f"People labelled all pairs of {corrected.sampled_queries:,} of {corrected.queries:,} "
        f"queries, and {corrected.sampled_pairs:,} of {corrected.pairs:,} pairs, all sampled at "
        "random. By labels: the benchmark's labels are trusted. Corrected: people's labels are "
        "trusted, the benchmark's serve as control variates (PPI++), with a 95% interval. "
        "Queries without a match score 0."
    )
    table = corrected_table(corrected)
    return Section("people", "Corrected by people's labels", [about, table])
