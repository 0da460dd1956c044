"""Annotation sheets: the grades of each annotator, and their agreement."""

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from infra.errors import SourceError
from infra.records import Record
from tasks.files.csv_rows import CsvRow, read_rows, whole_number
from tasks.statistics.agreement import cohen_kappa, krippendorff_alpha

# Annotator → pair → grade.
Grades = dict[str, dict[tuple[str, str], int]]


class PairOfAnnotators(Record):
    """Agreement of two annotators on the pairs that both graded; NaN where grades do not vary."""

    first: str
    second: str
    pairs: int
    equal: float
    kappa: float


class Agreement(Record):
    """How far annotators agree.

    Attributes:
        annotators: Their names.
        pairs: Pairs of query and code that at least two of them graded.
        nominal: Krippendorff's alpha with grades as categories.
        ordinal: The same with ordered grades.
        each_two: Every two annotators who share a pair.
    """

    annotators: tuple[str, ...]
    pairs: int
    nominal: float
    ordinal: float
    each_two: tuple[PairOfAnnotators, ...]


def read_sheets(files: Iterable[Path], highest: int = 1) -> Grades:
    """Return the grades of one or more sheets.

    Args:
        files: With the columns annotator, query, code, relevance and, maybe, notes; query and code
            are ids or texts, the same on every sheet.
        highest: The best grade; the worst is 0. An empty cell is a pair that was not graded.

    Raises:
        SourceError: A column is missing, a grade is out of bounds, or an annotator grades a pair
            twice.
    """
    grades: Grades = {}
    for file in files:
        for row in read_rows(file, ["annotator", "query", "code", "relevance"], ["notes"]):
            of_annotator = grades.setdefault(_named(row, "annotator"), {})
            pair = (_named(row, "query"), _named(row, "code"))
            if pair in of_annotator:
                raise SourceError(f"{row.place}: {row.cells['annotator']!r} grades the pair twice")
            if row.cells["relevance"]:
                of_annotator[pair] = _grade(row, highest)
    return grades


def agreement(grades: Grades, highest: int = 1) -> Agreement:
    """Return how far the annotators agree, whose grades are of 0 to ``highest``."""
    names = sorted(grades)
    ratings = _ratings(grades, names)
    two = [_compare(grades, first, second, highest) for first, second in combinations(names, 2)]
    return Agreement(
        annotators=tuple(names),
        pairs=int(((~np.isnan(ratings)).sum(axis=0) > 1).sum()),
        nominal=krippendorff_alpha(ratings, "nominal"),
        ordinal=krippendorff_alpha(ratings, "ordinal"),
        each_two=tuple(pair for pair in two if pair.pairs),
    )


def _ratings(grades: Grades, names: list[str]) -> npt.NDArray[np.float64]:
    pairs = sorted({pair for of_annotator in grades.values() for pair in of_annotator})
    rows = [[grades[name].get(pair, np.nan) for pair in pairs] for name in names]
    return np.array(rows, np.float64).reshape(len(names), len(pairs))


def _compare(grades: Grades, first: str, second: str, highest: int) -> PairOfAnnotators:
    shared = sorted(grades[first].keys() & grades[second].keys())
    ours, theirs = ([grades[name][pair] for pair in shared] for name in (first, second))
    equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
    return PairOfAnnotators(
        first=first,
        second=second,
        pairs=len(shared),
        equal=equal / max(len(shared), 1),
        kappa=cohen_kappa(ours, theirs, range(highest + 1)),
    )


def _named(row: CsvRow, column: str) -> str:
    if not row.cells[column]:
        raise SourceError(f"{row.place}: {column} is empty")
    return row.cells[column]


def _grade(row: CsvRow, highest: int) -> int:
    cell = row.cells["relevance"]
    grade = whole_number(cell, 0, highest)
    if grade is None:
        raise SourceError(
            f"{row.place}: relevance {cell[:40]!r}: it must be 0 to {highest}, or empty"
        )
    return grade
