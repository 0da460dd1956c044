"""Files of the CodeSearchNet challenge (Husain et al. 2019, section 4), written."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.files import atomic_write

GRADE_COLUMNS = ("Language", "Query", "GitHubUrl", "Relevance", "Notes")


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


def write_predictions(file: Path, predictions: Iterable[Prediction]) -> None:
    """Write predictions as CSV, whole or not at all; their order is the ranking."""
    _write_rows(file, Prediction._fields, predictions)


def write_grades(file: Path, grades: Iterable[GradeRow]) -> None:
    """Write grades as ``annotationStore.csv`` has them, whole or not at all."""
    _write_rows(file, GRADE_COLUMNS, grades)


def _write_rows(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with atomic_write(file) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
