"""Sheets of written answers for people to confirm, as CSV: written out, and read back.

A person fills in annotator, relevance and notes; further columns say which answer a row is about
and what it rests on.
"""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from infra.atomic import atomic_write
from infra.errors import SourceError
from infra.ids import QueryId
from infra.records import Record
from tasks.files.csv_rows import read_rows, whole_number

_FOR_PEOPLE = ("annotator", "query", "code", "relevance", "notes")
_OF_ANSWERS = ("collection", "query_id", "answer", "model", "evidence")
_MOST_ANSWERS = 10**6
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


class AnswerRow(NamedTuple):
    """A person's verdict on a written answer, whose code they may have changed.

    Attributes:
        place: The row's file and line.
        annotator: The person.
        code: The answer's code.
        relevance: 1 confirms it, 0 refuses it.
        note: What the person wrote beside it.
        collection: That of the query.
        query_id: The query.
        ordinal: The answer's number among those to the query.
    """

    place: str
    annotator: str
    code: str
    relevance: int
    note: str
    collection: str
    query_id: QueryId
    ordinal: int


def write_answers(answers: Sequence[Answer], file: Path) -> None:
    """Write answers to a sheet with empty cells for annotator, relevance and notes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow([*_FOR_PEOPLE, *_OF_ANSWERS])
        for item in answers:
            shown = ["", item.query, item.code, "", ""]
            about = [
                item.collection, item.query_id, str(item.ordinal), item.model, item.evidence,
            ]  # fmt: skip
            writer.writerow([inert(cell) for cell in (*shown, *about)])


def is_filled(file: Path) -> bool:
    """Return True if somebody has begun to fill in a sheet of answers, or the file is none."""
    try:
        return any(
            row.cells[name]
            for row in read_rows(file, [*_FOR_PEOPLE, *_OF_ANSWERS])
            for name in ("annotator", "relevance", "notes")
        )
    except SourceError:
        return True


def read_answers(file: Path) -> list[AnswerRow]:
    """Return people's verdicts on answers; a row without relevance is not graded.

    Raises:
        SourceError: A column is missing, a relevance is neither 0 nor 1, the number of an answer is
            none, or a row names no annotator, query or code.
    """
    found = []
    for row in read_rows(file, [*_FOR_PEOPLE[:-1], *_OF_ANSWERS], ["notes"]):
        cells = {name: plain(cell) for name, cell in row.cells.items()}
        if not (cells["annotator"] or cells["relevance"]):
            continue  # nobody's
        for name in ("annotator", "query", "code"):
            if not cells[name]:
                raise SourceError(f"{row.place}: {name} is empty")
        if not cells["relevance"]:
            continue
        relevance = whole_number(cells["relevance"], 0, 1)
        if relevance is None:
            cell = cells["relevance"][:40]
            raise SourceError(f"{row.place}: relevance {cell!r}: it must be 0 to 1, or empty")
        ordinal = whole_number(cells["answer"], 0, _MOST_ANSWERS)
        if ordinal is None:
            raise SourceError(f"{row.place}: answer {cells['answer'][:40]!r} is no number")
        found.append(
            AnswerRow(
                place=row.place,
                annotator=cells["annotator"],
                code=cells["code"],
                relevance=relevance,
                note=cells.get("notes", ""),
                collection=cells["collection"],
                query_id=QueryId(cells["query_id"]),
                ordinal=ordinal,
            )
        )
    return found


def inert(cell: str) -> str:
    """Return a cell of which no spreadsheet takes a part for a formula."""
    return _BEGIN.sub("'", cell)


def plain(cell: str) -> str:
    """Undo `inert`."""
    return _INERT.sub("", cell)
