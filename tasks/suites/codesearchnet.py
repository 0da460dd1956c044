"""The CodeSearchNet challenge (Husain et al. 2019, arXiv 1909.09436, section 4).

99 queries, functions of six languages, relevance 0 to 3 by several annotators whose grades are
averaged. Figures are those of the challenge's own script: NDCG with gain 2^relevance - 1 over the
first 300 results of a query, normalised by all annotated functions. "Within" looks at annotated
results only, as if the others had not been returned; "all" keeps everybody's place. A query whose
annotations are all 0 is left out. A result that a query gets again counts each time, so that NDCG
can exceed 1: how often that happens is told.

Where the script (``relevanceeval.py`` of github/CodeSearchNet) leaves something open, this is done:

- It prints a line for each language that has predictions and no mean. The mean here is the
  paper's, over all annotated languages; one without predictions counts as 0.
- It divides by zero for a language that nobody annotated, which is left out and named here, and
  for one without any relevant function, which scores 0 here.
- Of grades for one query in two spellings, ``Sort`` and ``sort``, it keeps those of one spelling.
  They are grades for one query here, and averaged.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from infra.errors import SourceError
from infra.records import Record
from tasks.files.csv_rows import Row, read_rows

LANGUAGES = ("go", "java", "javascript", "php", "python", "ruby")
DEEPEST = 300

# Language → query → URL → relevance, and language → query → URLs, best first.
Relevances = Mapping[str, Mapping[str, Mapping[str, float]]]
Predictions = Mapping[str, Mapping[str, list[str]]]


class LanguageScores(Record):
    """A method's figures for one language.

    Attributes:
        within: Mean NDCG over annotated results only.
        everything: Mean NDCG over all results.
        queries: How many have a relevant annotated function.
        coverage: Share of the annotated functions that were returned.
        relevant_coverage: Share of those with a relevance above 0 that were returned.
    """

    within: float
    everything: float
    queries: int
    coverage: float
    relevant_coverage: float


class ChallengeScores(Record):
    """A method's figures for the challenge.

    Attributes:
        languages: Language → figures, of all languages that are annotated. One without predictions
            scores 0.
        missing: Annotated languages without predictions.
        unannotated: Languages with predictions that nobody annotated; they are not scored.
        repeated: Predictions that a query has got before, each of which counts again.
    """

    languages: dict[str, LanguageScores]
    missing: tuple[str, ...]
    unannotated: tuple[str, ...]
    repeated: int

    @property
    def within(self) -> float:
        """Mean over the languages of NDCG over annotated results."""
        return float(np.mean([scores.within for scores in self.languages.values()]))

    @property
    def everything(self) -> float:
        """Mean over the languages of NDCG over all results."""
        return float(np.mean([scores.everything for scores in self.languages.values()]))


def read_queries(file: Path) -> list[str]:
    """Return the queries of ``queries.csv``.

    Raises:
        SourceError: The file is missing or malformed, or a query stands twice.
    """
    queries: list[str] = []
    for row in read_rows(file, ["query"]):
        query = _query(row, "query")
        if query in queries:
            raise SourceError(f"{row.place}: query {query!r} stands twice: delete the line")
        queries.append(query)
    return queries


def read_relevances(file: Path, queries: list[str] | None = None) -> Relevances:
    """Return the average relevances of ``annotationStore.csv``.

    Args:
        file: With the columns Language, Query, GitHubUrl, Relevance and, maybe, Notes.
        queries: What may be asked; anything when not given.

    Raises:
        SourceError: A column is missing, a language or query is unknown, or a relevance is not 0,
            1, 2 or 3.
    """
    grades: dict[str, dict[str, dict[str, list[int]]]] = {}
    for row in read_rows(file, ["Language", "Query", "GitHubUrl", "Relevance"], ["Notes"]):
        query = _known_query(row, "Query", queries)
        of_query = grades.setdefault(_language(row, "Language"), {}).setdefault(query, {})
        of_query.setdefault(_url(row, "GitHubUrl"), []).append(_relevance(row))
    return {
        language: {
            query: {url: float(np.mean(given)) for url, given in urls.items()}
            for query, urls in by_query.items()
        }
        for language, by_query in grades.items()
    }


def read_predictions(file: Path, queries: list[str] | None = None) -> Predictions:
    """Return the predictions of a method; the order of a query's rows is its ranking.

    Args:
        file: With the columns language, query, url and, maybe, identifier.
        queries: What may be asked; anything when not given.

    Raises:
        SourceError: A column is missing, or a language or query is unknown.
    """
    predictions: dict[str, dict[str, list[str]]] = {}
    for row in read_rows(file, ["language", "query", "url"], ["identifier"]):
        query = _known_query(row, "query", queries)
        of_query = predictions.setdefault(_language(row, "language"), {}).setdefault(query, [])
        of_query.append(_url(row, "url"))
    return predictions


def score(predictions: Predictions, relevances: Relevances) -> ChallengeScores:
    """Return a method's figures."""
    return ChallengeScores(
        languages={
            language: _score_language(predictions.get(language, {}), relevances[language])
            for language in sorted(relevances)
        },
        missing=tuple(sorted(relevances.keys() - predictions.keys())),
        unannotated=tuple(sorted(predictions.keys() - relevances.keys())),
        repeated=sum(
            len(urls[:DEEPEST]) - len(set(urls[:DEEPEST]))
            for by_query in predictions.values()
            for urls in by_query.values()
        ),
    )


def _score_language(
    predictions: Mapping[str, list[str]], relevances: Mapping[str, Mapping[str, float]]
) -> LanguageScores:
    ranked = {query: predictions.get(query, [])[:DEEPEST] for query in relevances}
    scored = [query for query, of_query in relevances.items() if any(of_query.values())]
    found = {query: set(urls) for query, urls in ranked.items()}
    returned = [
        (relevance, url in found[query])
        for query, of_query in relevances.items()
        for url, relevance in of_query.items()
    ]
    return LanguageScores(
        within=_mean(_ndcg(ranked[query], relevances[query], within=True) for query in scored),
        everything=_mean(_ndcg(ranked[query], relevances[query], within=False) for query in scored),
        queries=len(scored),
        coverage=_mean(float(is_there) for _, is_there in returned),
        relevant_coverage=_mean(
            float(is_there) for relevance, is_there in returned if relevance > 0
        ),
    )


def _ndcg(ranked: list[str], relevance: Mapping[str, float], *, within: bool) -> float:
    counted = [url for url in ranked if url in relevance] if within else ranked
    ideal = sorted(relevance.values(), reverse=True)
    return _dcg([relevance.get(url, 0.0) for url in counted]) / _dcg(ideal)


def _dcg(relevances: list[float]) -> float:
    gains = np.exp2(relevances) - 1
    return float(gains @ (1 / np.log2(np.arange(2, len(gains) + 2))))


def _mean(values: Iterator[float]) -> float:
    gathered = list(values)
    return float(np.mean(gathered)) if gathered else 0.0


def _language(row: Row, column: str) -> str:
    language = row.cells[column].lower()
    if language not in LANGUAGES:
        raise SourceError(
            f"{row.place}: unknown language {row.cells[column]!r}: it must be one of "
            f"{', '.join(LANGUAGES)}"
        )
    return language


def _query(row: Row, column: str) -> str:
    if not row.cells[column]:
        raise SourceError(f"{row.place}: the query is empty: write one or delete the line")
    return row.cells[column].lower()


def _known_query(row: Row, column: str, queries: list[str] | None) -> str:
    query = _query(row, column)
    if queries is not None and query not in queries:
        raise SourceError(f"{row.place}: {query!r} is none of the {len(queries)} queries")
    return query


def _url(row: Row, column: str) -> str:
    if not row.cells[column]:
        raise SourceError(f"{row.place}: {column} is empty: it must name a function")
    return row.cells[column]


def _relevance(row: Row) -> int:
    if row.cells["Relevance"] not in {"0", "1", "2", "3"}:
        raise SourceError(
            f"{row.place}: relevance {row.cells['Relevance']!r}: it must be 0, 1, 2 or 3"
        )
    return int(row.cells["Relevance"])
