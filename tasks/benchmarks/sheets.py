"""Sheets of written answers and of grades for people, as CSV: written out, and read back.

Every sheet has the columns annotator, query, code, relevance and notes. That of written answers has
further ones, which say which answer a row is about and what it rests on.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.atomic import atomic_write
from infra.errors import SourceError
from infra.ids import QueryId
from infra.records import Record
from tasks.files.csv_rows import CsvRow, read_rows, whole_number
from tasks.statistics.people import Grades

_FOR_PEOPLE = ("annotator", "query", "code", "relevance", "notes")
_OF_ANSWERS = ("collection", "query_id", "answer", "model", "evidence")
_MOST_ANSWERS = 10**6
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets run them


class SheetRow(NamedTuple):
    """What a person says of a pair.

    Attributes:
        place: The row's file and line.
        annotator: The person.
        query: Id or text of the query.
        code: Id or text of the code.
        relevance: From 0.
        note: What the person wrote beside it.
        about: Further column → cell.
    """

    place: str
    annotator: str
    query: str
    code: str
    relevance: int
    note: str
    about: Mapping[str, str]


class Answer(Record):
    """A written answer to a query, the ``ordinal``-th, with what the agents said of it."""

    collection: str
    query_id: QueryId
    ordinal: int
    query: str
    code: str
    model: str
    evidence: str


class AnswerRow(NamedTuple):
    """What a person says of a written answer, whose code they may have changed."""

    said: SheetRow
    collection: str
    query_id: QueryId
    ordinal: int


def read_sheet(file: Path, highest: int = 1, about: Sequence[str] = ()) -> Iterator[SheetRow]:
    """Yield the rows of a sheet that people filled in.

    Args:
        file: The sheet; an empty relevance is a pair that was not graded.
        highest: The best relevance; the worst is 0.
        about: Further columns.

    Raises:
        SourceError: A column is missing, a relevance is out of bounds, or a row names no annotator,
            query or code.
    """
    columns = [*_FOR_PEOPLE[:-1], *about]
    for row in read_rows(file, columns, ["notes"]):
        cells = {name: plain(cell) for name, cell in row.cells.items()}
        if not (cells["annotator"] or cells["relevance"]):
            continue  # nobody's
        for name in ("annotator", "query", "code"):
            if not cells[name]:
                raise SourceError(f"{row.place}: {name} is empty")
        if cells["relevance"]:
            yield SheetRow(
                place=row.place,
                annotator=cells["annotator"],
                query=cells["query"],
                code=cells["code"],
                relevance=_relevance(row, highest),
                note=cells.get("notes", ""),
                about={name: cells[name] for name in about},
            )


def _relevance(row: CsvRow, highest: int) -> int:
    cell = row.cells["relevance"]
    relevance = whole_number(cell, 0, highest)
    if relevance is None:
        raise SourceError(
            f"{row.place}: relevance {cell[:40]!r}: it must be 0 to {highest}, or empty"
        )
    return relevance


def write_answers(answers: Sequence[Answer], file: Path) -> None:
    """Write answers to a sheet with empty cells for annotator, relevance and notes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*_FOR_PEOPLE, *_OF_ANSWERS])
        for item in answers:
            shown = ["", item.query, item.code, "", ""]
            about = [
                item.collection, item.query_id, str(item.ordinal), item.model, item.evidence,
            ]  # fmt: skip
            writer.writerow([inert(cell) for cell in (*shown, *about)])


def is_filled(file: Path) -> bool:
    """Return whether somebody has begun to fill in a sheet of answers, or the file is none."""
    try:
        return any(
            row.cells[name]
            for row in read_rows(file, [*_FOR_PEOPLE, *_OF_ANSWERS])
            for name in ("annotator", "relevance", "notes")
        )
    except SourceError:
        return True


def read_answers(file: Path) -> list[AnswerRow]:
    """Return what people say of answers: relevance 1 confirms one, 0 refuses it.

    Raises:
        SourceError: As of `read_sheet`, or the number of an answer is none.
    """
    rows = []
    for row in read_sheet(file, about=_OF_ANSWERS):
        ordinal = whole_number(row.about["answer"], 0, _MOST_ANSWERS)
        if ordinal is None:
            raise SourceError(f"{row.place}: answer {row.about['answer'][:40]!r} is no number")
        query_id = QueryId(row.about["query_id"])
        rows.append(AnswerRow(row, row.about["collection"], query_id, ordinal))
    return rows


def inert(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _looks_like_formula(cell) else cell


def plain(cell: str) -> str:
    """Undo `inert`."""
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell) else cell


def _looks_like_formula(cell: str) -> bool:
    """Return whether a cell is a formula, or what `inert` could have made of one."""
    return cell.lstrip("'").startswith(_FORMULA)


def read_grades(files: Iterable[Path], highest: int = 1) -> Grades:
    """Return the grades on one or more sheets, which name queries and codes alike.

    Raises:
        SourceError: As of `read_sheet`, or an annotator grades a pair twice.
    """
    grades: Grades = {}
    for file in files:
        for row in read_sheet(file, highest):
            of_annotator = grades.setdefault(row.annotator, {})
            if (row.query, row.code) in of_annotator:
                raise SourceError(f"{row.place}: {row.annotator!r} grades the pair twice")
            of_annotator[row.query, row.code] = row.relevance
    return grades
