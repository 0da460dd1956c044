"""Leaderboard of retrieval methods on one benchmark, with intervals and significance tests.

A benchmark's labels cover the pool: the results of the methods that were used to build it. A new
method returns other codes, and counting them as not relevant may be unfair to it (Zobel 1998,
SIGIR; Buckley and Voorhees 2004, SIGIR), so results that were never judged are named.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from string import ascii_lowercase

import numpy as np
import pyarrow as pa
from pydantic import Field

from infra.identity import PairKey
from infra.records import Record
from tasks.benchmarks import Benchmark, columns_of
from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.metrics import Qrels, mean
from tasks.reports.circularity import Circularity
from tasks.statistics.comparisons import compare
from tasks.statistics.intervals import Interval, bootstrap_interval, wilson_interval

POOL_DEPTH = 10  # first results of a method that are to be judged
_SIGNIFICANT = 0.05

# Method → metric → query → value.
Values = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class Cell(Interval):
    """A method's mean in a metric, and the letters of the methods that it surpasses.

    A method surpasses another whose mean is significantly lower.
    """

    surpasses: str = ""


class Speed(Record):
    """Speed and cost of a method; None is unknown, or does not apply.

    Attributes:
        texts: Texts a second that its encoders embedded.
        megabytes: Size of the codes' vectors.
        usd: US dollars for 1,000 texts.
        queries: Queries a second that it ranked.
        machines: The processors that computed the vectors.
    """

    texts: float | None = None
    megabytes: float | None = None
    usd: float | None = None
    queries: float | None = None
    machines: tuple[str, ...] = ()


class MethodRow(Record):
    """A method's row.

    Attributes:
        letter: The letter by which other rows refer to it.
        cells: Metric → figures.
        judged: Share of its first 10 results that are judged.
        unranked: Scored queries without any result of it, which score 0.
        speed: What it takes; None where nobody measured it.
        mutants: Share of right codes above all their mutants; None where none has mutants.
    """

    letter: str
    method: str
    cells: dict[str, Cell]
    judged: float
    unranked: int = 0
    speed: Speed | None = None
    mutants: Interval | None = None


class LanguageRow(Record):
    """The methods on the queries whose relevant code is in one language.

    As in CodeSearchNet's challenge (arXiv 1909.09436) each language has a row, and their mean, in
    which each counts alike, has one; all codes are searched.

    Attributes:
        language: The language, or "mean".
        queries: How many queries.
        means: Metric → method → mean.
    """

    language: str
    queries: int
    means: dict[str, dict[str, float]]


class Leaderboard(Record):
    """Scores of methods on one benchmark, sorted by the first metric, best first.

    Attributes:
        fingerprint: Checksum of the benchmark's queries, codes and labels.
        scored: Queries with a match, over which means are taken.
        depth: Length of the rankings.
        matches: Number of matches, from 0 → queries that have labels.
        languages: The rows of languages, where the relevant codes are in several.
        dropped: Reason → what was left out where the benchmark was read or made.
        circularity: Which methods the benchmark may favour.
    """

    benchmark: str
    fingerprint: str
    label_origin: str
    queries: int
    scored: int
    codes: int
    labels: int
    depth: int
    metrics: tuple[str, ...]
    rows: tuple[MethodRow, ...]
    matches: dict[int, int] = Field(default_factory=dict)
    languages: tuple[LanguageRow, ...] = ()
    dropped: dict[str, int] = Field(default_factory=dict)
    circularity: Circularity | None = None


@dataclass(frozen=True)
class MethodScores:
    """The values of one method.

    Attributes:
        values: Metric → query → value.
        judged: Share of its first 10 results that are judged.
        unranked: Scored queries without any result of it.
        speed: What it takes, if that was measured.
        mutants: Share of right codes above all their mutants, if any has mutants.
    """

    method: str
    values: Mapping[str, Mapping[str, float]]
    judged: float
    unranked: int = 0
    speed: Speed | None = None
    mutants: Interval | None = None


class Unjudged(Record):
    """An unjudged pair with its best rank, and the methods that return it so early."""

    query_id: str
    code_id: str
    rank: int
    methods: tuple[str, ...]


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
    matches: Counter[str] = Counter()  # of each query with a label
    for label in benchmark.labels:
        matches[label.query_id] += label.relevance > 0
    return Leaderboard(
        benchmark=benchmark.name,
        fingerprint=fingerprint,
        label_origin=benchmark.label_origin,
        queries=len(benchmark.queries),
        scored=len(ranked[0].values[first]) if ranked else 0,
        codes=len(benchmark.codes),
        labels=len(benchmark.labels),
        depth=depth,
        metrics=tuple(metrics),
        rows=tuple(
            MethodRow(
                letter=letters[entry.method],
                method=entry.method,
                cells={metric: cells[metric][entry.method] for metric in metrics},
                judged=entry.judged,
                unranked=entry.unranked,
                speed=entry.speed,
                mutants=entry.mutants,
            )
            for entry in ranked
        ),
        matches=dict(sorted(Counter(matches.values()).items())),
        languages=_by_language(benchmark, ranked, metrics),
        dropped=benchmark.dropped,
    )


def _by_language(
    benchmark: Benchmark, scores: Sequence[MethodScores], metrics: Sequence[str]
) -> tuple[LanguageRow, ...]:
    """Return a row for each language of the relevant codes, and their mean; none for a single one.

    A query that is answered in several languages counts in each.
    """
    codes = columns_of(benchmark).codes.table.select(["code_id", "language"]).to_pydict()
    names = (name or "python" for name in codes["language"])
    languages = dict(zip(codes["code_id"], names, strict=True))
    if len(set(languages.values())) < 2:
        return ()
    asked: dict[str, set[str]] = {}
    for label in benchmark.labels:
        if label.relevance > 0 and label.code_id in languages:
            asked.setdefault(languages[label.code_id], set()).add(label.query_id)

    def means(queries: set[str]) -> dict[str, dict[str, float]]:
        return {
            metric: {
                entry.method: mean(
                    value for query, value in entry.values[metric].items() if query in queries
                )
                for entry in scores
            }
            for metric in metrics
        }

    return language_rows(
        {language: (len(queries), means(queries)) for language, queries in asked.items()}
    )


def language_rows(
    scores: Mapping[str, tuple[int, dict[str, dict[str, float]]]],
) -> tuple[LanguageRow, ...]:
    """Return a row for each language and their mean; none for a single language.

    Args:
        scores: Language → number of its queries, and metric → method → mean.
    """
    rows = [
        LanguageRow(language=language, queries=queries, means=means)
        for language, (queries, means) in sorted(scores.items())
    ]
    if len(rows) < 2:
        return ()
    means = {
        metric: {method: mean(row.means[metric][method] for row in rows) for method in of}
        for metric, of in rows[0].means.items()
    }
    return *rows, LanguageRow(language="mean", queries=sum(r.queries for r in rows), means=means)


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
        lower = " ".join(sorted(surpassed[method], key=lambda letter: (len(letter), letter)))
        cells[method] = Cell(**vars(bootstrap_interval(by_query)), surpasses=lower)
    return cells


def _array(values: Mapping[str, float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([values[query] for query in sorted(values)], np.float64)


def _letter(place: int) -> str:
    """Return a, b, ... z, aa, ab, ..."""
    before, last = divmod(place, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]


def judged_share(rankings: Rankings, qrels: Qrels) -> float:
    """Return the share of judged pairs among the first results of all judged queries.

    The measure judged@k of incomplete collections; 1 where nothing was returned.
    """
    returned = judged = 0
    for query, code, _ in rankings.cut(POOL_DEPTH).rows():
        if query in qrels:
            returned += 1
            judged += code in qrels[query]
    return judged / returned if returned else 1.0


def unranked_queries(rankings: Rankings, queries: Iterable[str]) -> int:
    """Return the number of queries for which a method returns nothing."""
    has_results = (rankings.codes != NOTHING).any(axis=1).tolist()
    return len({*queries}.difference(compress(rankings.query_ids, has_results)))


def above_mutants(rankings: Rankings, mutants: Mapping[PairKey, Sequence[str]]) -> Interval | None:
    """Return the share of right codes that are ranked above all their mutants, None of none.

    A right code that the ranking lacks is above nothing. Where a method scores both alike their
    ids order them, by chance. The interval is Wilson's, of 95%.

    Args:
        rankings: The rankings of a method.
        mutants: Pair of query and right code → its mutants.
    """
    asked: dict[str, dict[str, Sequence[str]]] = {}
    for key, others in mutants.items():
        asked.setdefault(key.query_id, {})[key.code_id] = others
    above = 0
    for query, row in zip(rankings.query_ids, rankings.codes, strict=True):
        if query in asked:
            ranked = [rankings.code_ids[code] for code in row.tolist() if code != NOTHING]
            places = {code: place for place, code in enumerate(ranked)}
            above += sum(
                places.get(code, len(ranked)) < min(places.get(one, len(ranked)) for one in others)
                for code, others in asked[query].items()
            )
    return wilson_interval(above, len(mutants)) if mutants else None


def unjudged_results(
    runs: Mapping[str, Rankings], qrels: Qrels, depth: int = POOL_DEPTH
) -> list[Unjudged]:
    """Return the unjudged pairs among the first results of any method, the highest ranked first.

    Args:
        runs: Method → rankings.
        qrels: Query → code → relevance; queries that it lacks are left out.
        depth: How many results of a method are its first.
    """
    ranks: dict[tuple[str, str], dict[str, int]] = {}
    for method, rankings in runs.items():
        ranked: Counter[str] = Counter()
        for query, code, _ in rankings.cut(depth).rows():
            ranked[query] += 1
            if query in qrels and code not in qrels[query]:
                ranks.setdefault((query, code), {})[method] = ranked[query]
    pairs = [
        Unjudged(
            query_id=query,
            code_id=code,
            rank=min(by_method.values()),
            methods=tuple(sorted(by_method)),
        )
        for (query, code), by_method in ranks.items()
    ]
    return sorted(
        pairs, key=lambda pair: (pair.rank, -len(pair.methods), pair.query_id, pair.code_id)
    )


def per_query_table(scores: Sequence[MethodScores]) -> pa.Table:
    """Return (method, query_id, one column for each metric), sorted by method and query."""
    metrics = list(scores[0].values) if scores else []
    columns: dict[str, list[object]] = {name: [] for name in ("method", "query_id", *metrics)}
    for entry in sorted(scores, key=lambda entry: entry.method):
        queries = sorted(next(iter(entry.values.values()), {}))
        columns["method"] += [entry.method] * len(queries)
        columns["query_id"] += queries
        for metric in metrics:
            columns[metric] += [entry.values[metric][query] for query in queries]
    types = {"method": pa.string(), "query_id": pa.string()}
    schema = pa.schema({name: types.get(name, pa.float64()) for name in columns})
    return pa.table(columns, schema=schema)
