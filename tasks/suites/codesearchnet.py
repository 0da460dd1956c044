"""The suite of the CodeSearchNet challenge (Husain et al. 2019, arXiv 1909.09436, section 4).

99 queries, functions of six languages, relevance 0 to 3 by several annotators whose grades are
averaged. Figures are those of the challenge's own script: NDCG with gain 2^relevance - 1 over the
first 300 results of a query, normalised by all annotated functions. "Within" ranks the annotated
results only, as if the others had not been returned; "all" ranks all results. A query whose
annotations are all 0 is left out. A result that a query gets again counts each time, so that NDCG
can exceed 1: the number of such results is printed.

Where the script (``relevanceeval.py`` of github/CodeSearchNet) leaves something open, this is done:

- It prints a line for each language that has predictions and no mean. The mean here is the
  paper's, over all annotated languages; one without predictions counts as 0.
- It divides by zero for a language without annotations, which is left out and named here, and
  for one without any relevant function, which scores 0 here.
- Of grades for one query in two spellings, ``Sort`` and ``sort``, it keeps those of one spelling.
  They are grades for one query here, and averaged.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from infra.errors import SourceError
from infra.records import Record
from tasks.files.csv_rows import CsvRow, read_rows
from tasks.metrics import JudgedLists, Variant, mean
from tasks.suites import Figures, SuiteOptions, suites

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
        unannotated: Languages with predictions and no annotations; they are not scored.
        repeated: Predictions that a query has got before, each of which counts again.
    """

    languages: dict[str, LanguageScores]
    missing: tuple[str, ...]
    unannotated: tuple[str, ...]
    repeated: int

    @property
    def within(self) -> float:
        """Mean over the languages of NDCG over annotated results."""
        return mean(scores.within for scores in self.languages.values())

    @property
    def everything(self) -> float:
        """Mean over the languages of NDCG over all results."""
        return mean(scores.everything for scores in self.languages.values())


class ChallengeOptions(SuiteOptions):
    """The options of suite codesearchnet."""

    annotations: Path = Field(
        description="The challenge's annotationStore.csv.", examples=["annotations.csv"]
    )
    predictions: Path = Field(description="A method's predictions as CSV.", examples=["mine.csv"])
    queries: Path | None = Field(
        None, description="The challenge's queries.csv, to check the other files with."
    )


@suites.register("codesearchnet")
class CodeSearchNetChallenge:
    """Score predictions for the CodeSearchNet challenge: NDCG within and over all, by language."""

    Options: ClassVar[type[SuiteOptions]] = ChallengeOptions

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write two annotations and two predictions of one query."""
        files = {
            "annotations": "Language,Query,GitHubUrl,Relevance\nGo,q,u/a,3\nGo,q,u/b,0\n",
            "predictions": "language,query,url\ngo,q,u/x\ngo,q,u/a\n",
        }
        for name, content in files.items():
            (folder / f"{name}.csv").write_text(content, encoding="utf-8")
        return {name: folder / f"{name}.csv" for name in files}

    def figures(self, options: ChallengeOptions) -> Figures:
        """Return the figures of each language and their means."""
        queries = read_queries(options.queries) if options.queries else None
        scores = score(
            read_predictions(options.predictions, queries),
            read_relevances(options.annotations, queries),
        )
        rows = [_row(language, row) for language, row in scores.languages.items()]
        means = ("mean", f"{scores.within:.3f}", f"{scores.everything:.3f}", "", "", "")
        return Figures(columns=_COLUMNS, rows=(*rows, means), notes=_notes(scores))


_COLUMNS = (
    "language",
    "NDCG within",
    "NDCG all",
    "queries",
    "annotated results found",
    "relevant ones",
)


def _row(language: str, scores: LanguageScores) -> tuple[str, ...]:
    return (
        language,
        f"{scores.within:.3f}",
        f"{scores.everything:.3f}",
        str(scores.queries),
        f"{scores.coverage:.1%}",
        f"{scores.relevant_coverage:.1%}",
    )


def _notes(scores: ChallengeScores) -> tuple[str, ...]:
    notes = []
    if scores.missing:
        notes.append(f"without predictions, counted as 0: {', '.join(scores.missing)}")
    if scores.unannotated:
        notes.append(f"without annotations, left out: {', '.join(scores.unannotated)}")
    if scores.repeated:
        notes.append(f"repeated within a query, counted each time: {scores.repeated:,} results")
    return tuple(notes)


def read_queries(file: Path) -> list[str]:
    """Return the queries of ``queries.csv``.

    Raises:
        SourceError: The file is missing or malformed, or a query appears twice.
    """
    queries: list[str] = []
    for row in read_rows(file, ["query"]):
        query = _query(row, "query")
        if query in queries:
            raise SourceError(f"{row.place}: query {query!r} appears twice: delete the line")
        queries.append(query)
    return queries


def read_relevances(file: Path, queries: list[str] | None = None) -> Relevances:
    """Return the average relevances of ``annotationStore.csv``.

    Args:
        file: With the columns Language, Query, GitHubUrl, Relevance and, maybe, Notes.
        queries: The known queries; any query is taken when not given.

    Raises:
        SourceError: A column is missing, a language or query is unknown, or a relevance is not 0,
            1, 2 or 3.
    """
    grades: dict[str, dict[str, dict[str, list[int]]]] = {}
    for row in read_rows(file, ["Language", "Query", "GitHubUrl", "Relevance"], ["Notes"]):
        query = _known_query(row, "Query", queries)
        by_url = grades.setdefault(_language(row, "Language"), {}).setdefault(query, {})
        by_url.setdefault(_url(row, "GitHubUrl"), []).append(_relevance(row))
    return {
        language: {
            query: {url: mean(url_grades) for url, url_grades in urls.items()}
            for query, urls in by_query.items()
        }
        for language, by_query in grades.items()
    }


def read_predictions(file: Path, queries: list[str] | None = None) -> Predictions:
    """Return the predictions of a method; the order of a query's rows is its ranking.

    Args:
        file: With the columns language, query, url and, maybe, identifier.
        queries: The known queries; any query is taken when not given.

    Raises:
        SourceError: A column is missing, or a language or query is unknown.
    """
    predictions: dict[str, dict[str, list[str]]] = {}
    for row in read_rows(file, ["language", "query", "url"], ["identifier"]):
        query = _known_query(row, "query", queries)
        urls = predictions.setdefault(_language(row, "language"), {}).setdefault(query, [])
        urls.append(_url(row, "url"))
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
    results = {query: predictions.get(query, [])[:DEEPEST] for query in relevances}
    lists = JudgedLists.of_results(results, relevances)
    returned = [
        (relevance, url in results[query])
        for query, by_url in relevances.items()
        for url, relevance in by_url.items()
    ]
    return LanguageScores(
        within=mean(Variant.parse("NDCG-exp-condensed").score(lists)),
        everything=mean(Variant.parse("NDCG-exp").score(lists)),
        queries=len(lists.query_ids),
        coverage=mean(is_returned for _, is_returned in returned),
        relevant_coverage=mean(is_returned for relevance, is_returned in returned if relevance > 0),
    )


def _language(row: CsvRow, column: str) -> str:
    language = row.cells[column].lower()
    if language not in LANGUAGES:
        raise SourceError(
            f"{row.place}: unknown language {row.cells[column]!r}: it must be one of "
            f"{', '.join(LANGUAGES)}"
        )
    return language


def _query(row: CsvRow, column: str) -> str:
    if not row.cells[column]:
        raise SourceError(f"{row.place}: the query is empty: write one or delete the line")
    return row.cells[column].lower()


def _known_query(row: CsvRow, column: str, queries: list[str] | None) -> str:
    query = _query(row, column)
    if queries is not None and query not in queries:
        raise SourceError(f"{row.place}: {query!r} is none of the {len(queries)} queries")
    return query


def _url(row: CsvRow, column: str) -> str:
    if not row.cells[column]:
        raise SourceError(f"{row.place}: {column} is empty: it must name a function")
    return row.cells[column]


def _relevance(row: CsvRow) -> int:
    if row.cells["Relevance"] not in {"0", "1", "2", "3"}:
        raise SourceError(
            f"{row.place}: relevance {row.cells['Relevance']!r}: it must be 0, 1, 2 or 3"
        )
    return int(row.cells["Relevance"])
