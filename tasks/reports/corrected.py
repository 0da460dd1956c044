"""A leaderboard's scores and share of matches, corrected by people's labels of a random sample.

The agents label all pairs and may err; people label a random sample. PPI++ takes from the first
what is certain of all pairs and from the second how far the labels are off: its intervals hold the
scores that people's labels of all pairs would give.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from infra.records import Record
from tasks.benchmarks.runs import Rankings
from tasks.metrics import Qrels, evaluate
from tasks.reports.document import Paragraph, Section, Table, Text
from tasks.statistics import Values
from tasks.statistics.intervals import Interval
from tasks.statistics.label_errors import corrected_mean
from tasks.statistics.sampling import DIFFERENCES

MIN_SAMPLED = 10  # below, an interval is as good as the whole scale


@dataclass(frozen=True)
class PeopleLabels:
    """People's labels of random samples of a benchmark's pairs.

    Attributes:
        queries: Query → code → relevance of queries drawn at random, all of whose pairs have one.
        pairs: Query → code → relevance of pairs drawn at random.
    """

    queries: Qrels
    pairs: Qrels


class CorrectedFigure(Record):
    """A figure by the benchmark's labels, and corrected by people's.

    Attributes:
        name: What it is of, such as a method.
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

    @classmethod
    def of(cls, name: str, by_labels: float, found: Interval) -> "CorrectedFigure":
        """Return a corrected mean with its name."""
        return cls(name=name, by_labels=by_labels, mean=found.mean, low=found.low, high=found.high)


class CorrectedScores(Record):
    """A leaderboard corrected by people's labels.

    Attributes:
        queries: Queries with labels.
        sampled_queries: Those of which people labelled all pairs.
        scores: Metric → the methods' corrected means, then their differences from the first.
        pairs: Labelled pairs.
        sampled_pairs: Those that people labelled as a random sample of pairs.
        matches: The corrected share of matches.
    """

    queries: int
    sampled_queries: int
    scores: dict[str, tuple[CorrectedFigure, ...]]
    pairs: int
    sampled_pairs: int
    matches: CorrectedFigure | None


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
    if not (people.queries or people.pairs):
        return None
    drawn = {
        query: people.queries[query]
        for query in sorted(qrels.keys() & people.queries.keys())
        if qrels[query].keys() <= people.queries[query].keys()
    }
    scores = {}
    if len(drawn) >= MIN_SAMPLED:
        scores = {
            metric: _scores(
                rankings,
                {method: values[method][metric] for method in rankings},
                drawn,
                metric,
                len(qrels),
            )
            for metric in metrics
        }
    labels = {(query, code): value for query, of in qrels.items() for code, value in of.items()}
    known = {
        (query, code): value
        for query, of in people.pairs.items()
        for code, value in of.items()
        if (query, code) in labels
    }
    matches = None
    if len(known) >= MIN_SAMPLED:
        true = np.array([value > 0 for value in known.values()], np.float64)
        labelled = np.array([labels[pair] > 0 for pair in known], np.float64)
        share = sum(value > 0 for value in labels.values()) / len(labels)
        found = corrected_mean(true, labelled, share, len(labels))
        matches = CorrectedFigure.of("share of matches", share, found)
    if not scores and matches is None:
        return None
    return CorrectedScores(
        queries=len(qrels), sampled_queries=len(drawn), scores=scores, pairs=len(labels),
        sampled_pairs=len(known), matches=matches,
    )  # fmt: skip


def _scores(
    rankings: Mapping[str, Rankings],
    values: Mapping[str, Mapping[str, float]],
    drawn: Qrels,
    metric: str,
    queries: int,
) -> tuple[CorrectedFigure, ...]:
    """Return the corrected means of each method, then the differences from the first one."""
    sampled = sorted(drawn)
    true: dict[str, Values] = {}
    labelled: dict[str, Values] = {}
    means: dict[str, float] = {}
    for method, ranked in rankings.items():
        by_people = evaluate(ranked, drawn, [metric])[metric]
        by_labels = values[method]
        true[method] = np.array([by_people.get(query, 0.0) for query in sampled])
        labelled[method] = np.array([by_labels.get(query, 0.0) for query in sampled])
        means[method] = sum(by_labels.values()) / queries
    figures = [
        CorrectedFigure.of(
            method, means[method],
            corrected_mean(
                true[method], labelled[method], means[method], queries,
                error=float(true[method].std()),
            ),
        )
        for method in rankings
    ]  # fmt: skip
    best = next(iter(rankings), "")
    for method in list(rankings)[1:]:
        gap = means[best] - means[method]
        gaps = true[best] - true[method]
        found = corrected_mean(
            gaps, labelled[best] - labelled[method], gap, queries,
            scale=DIFFERENCES, error=float(gaps.std()),
        )  # fmt: skip
        figures.append(CorrectedFigure.of(f"{best} - {method}", gap, found))
    return tuple(figures)


def corrected_section(corrected: CorrectedScores) -> Section:
    """Return the section of a leaderboard that shows them."""
    blocks: list[Paragraph | Table] = [
        Paragraph(
            f"People labelled all pairs of {corrected.sampled_queries:,} of {corrected.queries:,} "
            f"queries, and {corrected.sampled_pairs:,} of {corrected.pairs:,} pairs, all drawn at "
            "random. By labels: the benchmark's labels are trusted. Corrected: people's labels are "
            "trusted, the benchmark's serve as control variates (PPI++), with a 95% interval. "
            "Queries without a match score 0."
        )
    ]
    for metric, figures in corrected.scores.items():
        blocks.append(_table(metric, figures))
    if corrected.matches:
        blocks.append(_table("share", [corrected.matches]))
    return Section("people", "Corrected by people's labels", blocks)


def _table(name: str, figures: Sequence[CorrectedFigure]) -> Table:
    header = (name, "by labels", "corrected")
    rows: list[tuple[Text, ...]] = [
        (
            figure.name,
            f"{figure.by_labels:.3f}",
            f"{figure.mean:.3f} [{figure.low:.3f}, {figure.high:.3f}]",
        )
        for figure in figures
    ]
    return Table(header, rows)
