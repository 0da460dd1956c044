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
from tasks.reports.document import Figure, Section, Span, Table, Text
from tasks.reports.figures import Dot, dots_figure
from tasks.statistics import Values
from tasks.statistics.intervals import Interval
from tasks.statistics.sampling import DIFFERENCES, corrected_mean

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
        metric: The metric, or "share of matches".
        method: The method, "" of that share.
        less: In a difference the method that is taken off, else "".
        by_labels: By the benchmark's labels alone.
        corrected: Corrected, with its 95% interval.
    """

    metric: str
    method: str = ""
    less: str = ""
    by_labels: float
    corrected: Interval


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
        figures.append(CorrectedFigure(metric="share of matches", by_labels=share, corrected=found))
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
        yield CorrectedFigure(
            metric=metric, method=method, by_labels=means[method], corrected=found
        )
    best, *others = rankings or [""]
    for method in others:
        gap = means[best] - means[method]
        gaps = true[best] - true[method]
        found = corrected_mean(
            gaps, labelled[best] - labelled[method], gap, queries,
            scale=DIFFERENCES, error=float(gaps.std()),
        )  # fmt: skip
        yield CorrectedFigure(
            metric=metric, method=best, less=method, by_labels=gap, corrected=found
        )


def corrected_figures(corrected: CorrectedScores) -> list[Figure]:
    """Return the methods' scores and their distances by metric, and the share of matches."""
    over = f"over all {corrected.queries:,} queries, of which one without a match scores 0"
    scores = [each for each in corrected.figures if each.method and not each.less]
    gaps = [each for each in corrected.figures if each.less]
    shares = [each for each in corrected.figures if not each.method]
    made = []
    if scores:
        made.append(_by_metric(scores, f"Means {over}", (0.0, 1.0)))
    if gaps:
        made.append(_by_metric(gaps, f"{gaps[0].method} less each other method, {over}", None))
    return [*made, _by_metric(shares, "Share of matches", (0.0, 1.0))] if shares else made


def _by_metric(
    figures: Sequence[CorrectedFigure], caption: str, ends: tuple[float, float] | None
) -> Figure:
    """Return a row for each method and a column for each metric, of which the first is drawn."""
    rows: dict[str, dict[str, Text]] = {}
    dots: dict[str, list[Dot]] = {}
    for each in figures:
        found, name = each.corrected, each.less or each.method or "all pairs"
        dot = Dot(name, found.mean, found)
        labels = Span(f"by labels {each.by_labels:.3f}", "note")
        rows.setdefault(dot.name, {})[each.metric] = (str(dot), labels)
        dots.setdefault(each.metric, []).append(dot)
    cells = [(name, *(row[metric] for metric in dots)) for name, row in rows.items()]
    [(metric, drawn), *_] = dots.items()
    return dots_figure(metric, drawn, Table(("", *dots), cells, caption=caption), ends)


def corrected_section(corrected: CorrectedScores) -> Section:
    """Return the section of a leaderboard that shows them."""
    about = (
        f"People labelled all pairs of {corrected.sampled_queries:,} of {corrected.queries:,} "
        f"queries, and {corrected.sampled_pairs:,} of {corrected.pairs:,} pairs, all sampled at "
        "random. By labels: the benchmark's labels are trusted. Corrected: people's labels are "
        "trusted, the benchmark's serve as control variates (PPI++), with a 95% interval. All "
        "queries count here, as labels that err may hide a query's only match: a mean by labels is "
        "that of the table of scores, times the share of queries with a match."
    )
    return Section("people", "Corrected by people's labels", [about, *corrected_figures(corrected)])
