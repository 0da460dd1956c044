"""The files of the CodeSearchNet challenge: its queries, predictions and annotators' grades.

Source: Husain et al. 2019 (arXiv 1909.09436), section 4; files ``queries.csv`` and
``annotationStore.csv`` of github/CodeSearchNet.
"""

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.errors import SourceError
from infra.files import atomic_write
from tasks.inputs.formats import read_query_texts
from tasks.inputs.tables import CsvRow, read_rows
from tasks.inputs.text import printable

LANGUAGES = ("go", "java", "javascript", "php", "python", "ruby")
_EXACT = 3
GRADE_COLUMNS = ("Language", "Query", "GitHubUrl", "Relevance", "Notes")


class Grade(NamedTuple):
    """An annotator's grade of a function.

    Attributes:
        relevance: 0 (irrelevant) to 3 (exact match).
        note: Why; mostly empty.
    """

    relevance: int
    note: str


# Language → query → URL → grades, in the order of the file, which names no annotator.
Grades = Mapping[str, Mapping[str, Mapping[str, Sequence[Grade]]]]


def is_right(grades: Collection[Grade]) -> bool:
    """Return True if a function answers its query: an annotator graded it 3.

    CoSQA+ does not print its rule. Of those tried this one alone gives the 399 Python pairs of 95
    queries that it trains and tests with.
    """
    return any(grade.relevance == _EXACT for grade in grades)


def read_queries(file: Path) -> list[str]:
    """Return the queries of ``queries.csv``.

    Raises:
        SourceError: The file is missing or malformed, or a query appears twice.
    """
    queries: dict[str, str] = {}
    for row in read_rows(file, ["query"]):
        query = query_in(row, "query")
        if query in queries:
            raise SourceError(
                f"{row.place}: query {query!r} appears twice (first in {queries[query]}): delete "
                "the line"
            )
        queries[query] = row.place
    return list(queries)


def challenge_queries(file: Path) -> list[str]:
    """Return the queries of ``queries.csv``, or of what `read_query_texts` takes, in lower case.

    Raises:
        SourceError: The file is missing or malformed, or holds no queries.
    """
    if file.suffix == ".csv":
        queries = read_queries(file)
    else:
        queries = list(dict.fromkeys(text.lower() for text in read_query_texts(file).texts))
    if not queries:
        raise SourceError(f"{printable(file)} holds no queries: write one a line beneath `query`")
    return queries


def read_grades(file: Path, queries: Collection[str] | None = None) -> Grades:
    """Return the grades of ``annotationStore.csv``; several of a function stand in its order.

    Args:
        file: With the columns Language, Query, GitHubUrl, Relevance and, maybe, Notes.
        queries: The known queries; any query is taken when not given.

    Raises:
        SourceError: A column is missing, there are no rows, a language or query is unknown, or a
            relevance is not 0, 1, 2 or 3.
    """
    grades: dict[str, dict[str, dict[str, list[Grade]]]] = {}
    for row in read_rows(file, GRADE_COLUMNS[:-1], GRADE_COLUMNS[-1:]):
        query = query_in(row, "Query", queries)
        by_url = grades.setdefault(language_in(row, "Language"), {}).setdefault(query, {})
        if row.cells["Relevance"] not in {"0", "1", "2", "3"}:
            raise SourceError(
                f"{row.place}: relevance {row.cells['Relevance']!r}: it must be 0, 1, 2 or 3"
            )
        grade = Grade(int(row.cells["Relevance"]), row.cells.get("Notes", ""))
        by_url.setdefault(url_in(row, "GitHubUrl"), []).append(grade)
    if not grades:
        raise SourceError(f"{printable(file)} holds no grades: write one a line below the header")
    return grades


def language_in(row: CsvRow, column: str) -> str:
    """Return the language in a cell, in lower case; an unknown one is a `SourceError`."""
    language = row.cells[column].lower()
    if language not in LANGUAGES:
        raise SourceError(
            f"{row.place}: unknown language {row.cells[column]!r}: it must be one of "
            f"{', '.join(LANGUAGES)}"
        )
    return language


def query_in(row: CsvRow, column: str, queries: Collection[str] | None = None) -> str:
    """Return the query in a cell, in lower case; an empty or unknown one is a `SourceError`."""
    query = row.cells[column].lower()
    if not query:
        raise SourceError(f"{row.place}: the query is empty: write one or delete the line")
    if queries is not None and query not in queries:
        raise SourceError(f"{row.place}: {query!r} is none of the {len(queries)} queries")
    return query


def url_in(row: CsvRow, column: str) -> str:
    """Return the URL in a cell; an empty one is a `SourceError`."""
    if not row.cells[column]:
        raise SourceError(f"{row.place}: {column} is empty: it must name a function")
    return row.cells[column]


class Prediction(NamedTuple):
    """A function that a method returns for a query, in the columns of the challenge's file."""

    query: str
    language: str
    identifier: str
    url: str


class GradeRow(NamedTuple):
    """An annotator's grade of a function, in the columns of ``annotationStore.csv``."""

    language: str
    query: str
    url: str
    relevance: int
    notes: str


def write_rows(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a file of the challenge as CSV, whole or not at all, its rows in their order."""
    with atomic_write(file) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
