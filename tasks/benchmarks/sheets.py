"""Tables of CSV: sheets for people to fill in, and the files of the CodeSearchNet challenge.

On one sheet people label a sample, on another they confirm written answers: a person fills in some
cells, further columns say what a row is about. No spreadsheet takes a cell for a formula. The
challenge (Husain et al. 2019, section 4) has predictions and grades.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.files import atomic_write
from infra.identity import QueryId
from infra.records import Record

_NOTES = ("notes", "comment", "minutes")
_OF_ROW = ("sample", "item", "annotator")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "pairs": ("query", "code", "grade", *_NOTES, "program", *_OF_ROW),
    "answers": ("query", "code", "grade", *_NOTES, "program", *_OF_ROW),
    "preference": ("query", "code_a", "code_b", "choice", *_NOTES, *_OF_ROW),
}
TO_FILL = ("grade", "choice", *_NOTES, "program")
OF_ANSWERS = (
    *("query", "code", "annotator", "relevance", "notes"),
    *("collection", "query_id", "answer", "model", "evidence"),
)

_SIGN = r"[=+\-@＝＋－＠]"  # noqa: RUF001 - spreadsheets run what begins with one
# A spreadsheet that takes another separator begins cells within texts, too, quoted or not.
_AT_START = rf"['\s]*{_SIGN}|'*[\t\r\n]"
_WITHIN = rf"['\"]*{_SIGN}|['\"\s]*[=＝]"  # noqa: RUF001 - as above
_BEGIN = re.compile(rf"\A(?={_AT_START})|(?<=[;\t\r\n])(?={_WITHIN})")
_INERT = re.compile(rf"\A'(?={_AT_START})|(?<=[;\t\r\n])'(?={_WITHIN})")


class Answer(Record):
    """A written answer to a query, the ``ordinal``-th, with what the agents said of it."""

    collection: str
    query_id: QueryId
    ordinal: int
    query: str
    code: str
    model: str
    evidence: str


def write_answers(answers: Sequence[Answer], file: Path) -> None:
    """Write answers to a sheet with empty cells for annotator, relevance and notes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = ({**item.model_dump(), "answer": str(item.ordinal)} for item in answers)
    write_sheet(file, OF_ANSWERS, rows, "utf-8")


def write_sheet(
    file: Path,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, str]],
    encoding: str = "utf-8-sig",  # Excel knows UTF-8 by it
) -> None:
    """Write a sheet, whole or not at all; a cell that a row lacks is empty."""
    with atomic_write(file) as partial, partial.open("w", encoding=encoding, newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows([inert(row.get(name, "")) for name in columns] for row in rows)


def inert(cell: str) -> str:
    """Return a cell of which no spreadsheet takes a part for a formula."""
    return _BEGIN.sub("'", cell)


def plain(cell: str) -> str:
    """Undo `inert`."""
    return _INERT.sub("", cell)


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


def write_rows(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a file of the challenge as CSV, whole or not at all, its rows in their order."""
    with atomic_write(file) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
