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

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from infra.records import Record
from tasks.inputs.challenge import language_in, query_in, read_grades, read_queries, url_in
from tasks.inputs.tables import read_rows
from tasks.metrics import JudgedLists, Variant, mean
from tasks.suites import Figures, SuiteOptions, suites

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
        queries = frozenset(read_queries(options.queries)) if options.queries else None
        scores = score(
            read_predictions(options.predictions, queries),
            read_relevances(options.annotations, queries),
        )
        rows = [
            (
                language,
                f"{row.within:.3f}",
                f"{row.everything:.3f}",
                str(row.queries),
                f"{row.coverage:.1%}",
                f"{row.relevant_coverage:.1%}",
            )
            for language, row in scores.languages.items()
        ]
        means = ("mean", f"{scores.within:.3f}", f"{scores.everything:.3f}", "", "", "")
        notes = []
        if scores.missing:
            notes.append(f"without predictions, counted as 0: {', '.join(scores.missing)}")
        strange = [
            name
            for name, row in scores.languages.items()
            if not row.coverage and name not in scores.missing
        ]
        if strange:
            notes.append(f"no annotated function is among the predictions: {', '.join(strange)}")
        if scores.unannotated:
            notes.append(f"without annotations, left out: {', '.join(scores.unannotated)}")
        if scores.repeated:
            notes.append(f"repeated within a query, counted each time: {scores.repeated:,} results")
        return Figures(columns=_COLUMNS, rows=(*rows, means), notes=tuple(notes))


_COLUMNS = (
    "language",
    "NDCG within",
    "NDCG all",
    "queries",
    "annotated results found",
    "relevant ones",
)


def read_relevances(file: Path, queries: Collection[str] | None = None) -> Relevances:
    """Return the average relevances of ``annotationStore.csv``.

    Args:
        file: With the columns Language, Query, GitHubUrl, Relevance and, maybe, Notes.
        queries: The known queries; any query is taken when not given.

    Raises:
        SourceError: A column is missing, a language or query is unknown, or a relevance is not 0,
            1, 2 or 3.
    """
    return {
        language: {
            query: {url: mean(grade.relevance for grade in given) for url, given in urls.items()}
            for query, urls in by_query.items()
        }
        for language, by_query in read_grades(file, queries).items()
    }


def read_predictions(file: Path, queries: Collection[str] | None = None) -> Predictions:
    """Return the predictions of a method; the order of a query's rows is its ranking.

    Args:
        file: With the columns language, query, url and, maybe, identifier.
        queries: The known queries; any query is taken when not given.

    Raises:
        SourceError: A column is missing, or a language or query is unknown.
    """
    predictions: dict[str, dict[str, list[str]]] = {}
    for row in read_rows(file, ["language", "query", "url"], ["identifier"]):
        query = query_in(row, "query", queries)
        urls = predictions.setdefault(language_in(row, "language"), {}).setdefault(query, [])
        urls.append(url_in(row, "url"))
    return predictions


def score(predictions: Predictions, relevances: Relevances) -> ChallengeScores:
    """Return a method's figures."""
    languages = {}
    for language, annotated in sorted(relevances.items()):
        predicted = predictions.get(language, {})
        results = {query: predicted.get(query, [])[:DEEPEST] for query in annotated}
        lists = JudgedLists.of_results(results, annotated)
        returned = [
            (relevance, url in results[query])
            for query, by_url in annotated.items()
            for url, relevance in by_url.items()
        ]
        languages[language] = LanguageScores(
            within=mean(Variant.parse("NDCG-exp-condensed").score(lists)),
            everything=mean(Variant.parse("NDCG-exp").score(lists)),
            queries=len(lists.query_ids),
            coverage=mean(found for _, found in returned),
            relevant_coverage=mean(found for relevance, found in returned if relevance > 0),
        )
    return ChallengeScores(
        languages=languages,
        missing=tuple(sorted(relevances.keys() - predictions.keys())),
        unannotated=tuple(sorted(predictions.keys() - relevances.keys())),
        repeated=sum(
            len(urls[:DEEPEST]) - len(set(urls[:DEEPEST]))
            for by_query in predictions.values()
            for urls in by_query.values()
        ),
    )
