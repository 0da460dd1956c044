"""Sheets of written answers as CSV: what people see of each, and what they say of it.

The columns annotator, query, code, relevance and notes are those of all annotation sheets; the
others say which answer a row is about and what it rests on.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from infra.atomic import atomic_write
from infra.errors import SourceError
from infra.ids import QueryId
from infra.records import Record
from tasks.files.csv_rows import CsvRow, read_rows, whole_number

_FOR_PEOPLE = ("annotator", "query", "code", "relevance", "notes")
_ABOUT = ("collection", "query_id", "answer", "model", "evidence")
_MOST_ANSWERS = 10**6
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets run


class Answer(Record):
    """A written answer to a query, the ``ordinal``-th, with what the agents said of it."""

    collection: str
    query_id: QueryId
    ordinal: int
    query: str
    code: str
    model: str
    evidence: str


class SheetRow(Record):
    """What a person says of an answer; ``place`` is the row's file and line."""

    place: str
    collection: str
    query_id: QueryId
    ordinal: int
    code: str
    annotator: str
    confirmed: bool
    notes: str


def write_sheet(answers: Sequence[Answer], file: Path) -> None:
    """Write answers to a sheet with empty cells for annotator, relevance and notes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*_FOR_PEOPLE, *_ABOUT])
        for item in answers:
            shown = ["", item.query, item.code, "", ""]
            about = [
                item.collection, item.query_id, str(item.ordinal), item.model, item.evidence,
            ]  # fmt: skip
            writer.writerow([_inert(cell) for cell in (*shown, *about)])


def is_filled(file: Path) -> bool:
    """Return whether somebody has begun to fill in a sheet, or the file is no such sheet."""
    try:
        return any(
            row.cells[name]
            for row in read_rows(file, [*_FOR_PEOPLE, *_ABOUT])
            for name in ("annotator", "relevance", "notes")
        )
    except SourceError:
        return True


def read_sheet(file: Path) -> list[SheetRow]:
    """Return the rows that people filled in: relevance 1 confirms an answer, 0 refuses it.

    Raises:
        SourceError: The file is no such sheet, a relevance is neither 0, 1 nor empty, a row with
            one has no annotator, or an annotator has two rows for one answer.
    """
    rows = [_row(row) for row in read_rows(file, [*_FOR_PEOPLE, *_ABOUT]) if row.cells["relevance"]]
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        key = (row.collection, row.query_id, row.ordinal, row.annotator)
        if key in seen:
            raise SourceError(f"{row.place}: {row.annotator!r} judges the answer twice")
        seen.add(key)
    return rows


def _row(row: CsvRow) -> SheetRow:
    relevance = whole_number(row.cells["relevance"], 0, 1)
    ordinal = whole_number(row.cells["answer"], 0, _MOST_ANSWERS)
    if relevance is None:
        cell = row.cells["relevance"][:40]
        raise SourceError(
            f"{row.place}: relevance {cell!r}: it must be 1 (confirmed), 0 (refused) or empty"
        )
    if not row.cells["annotator"]:
        raise SourceError(f"{row.place}: annotator is empty: write who says so")
    if ordinal is None:
        raise SourceError(f"{row.place}: answer {row.cells['answer'][:40]!r} is no number")
    return SheetRow(
        place=row.place,
        collection=_plain(row.cells["collection"]),
        query_id=QueryId(_plain(row.cells["query_id"])),
        ordinal=ordinal,
        code=_plain(row.cells["code"]),
        annotator=row.cells["annotator"],
        confirmed=bool(relevance),
        notes=row.cells["notes"],
    )


def _inert(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _looks_like_formula(cell) else cell


def _plain(cell: str) -> str:
    """Undo `_inert`."""
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell) else cell


def _looks_like_formula(cell: str) -> bool:
    """Return whether a cell is a formula, or what `_inert` could have made of one."""
    return cell.lstrip("'").startswith(_FORMULA)
