"""Sheets that people fill in, written and read: labels of a sample, verdicts on written answers.

A person fills in some cells; further columns say what a row is about. No spreadsheet takes a cell
for a formula. Spreadsheets change files: their separators, UTF-16, byte order marks, line ends, the
order of rows and columns and a grade ``1.0`` are read all the same.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from infra.errors import SourceError
from infra.files import atomic_write
from infra.identity import QueryId
from infra.records import Difficulty, Record
from tasks.inputs.tables import CsvRow, read_header, read_rows, whole_number

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

UNDECIDED = "?"
_DIFFICULTIES: Mapping[str, Difficulty] = {name: name for name in get_args(Difficulty)}
_MOST_ITEMS = 10**7
_MOST_ANSWERS = 10**6


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


def _rows(file: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> Iterator[CsvRow]:
    """Yield the rows as they were before they were made inert."""
    for place, cells in read_rows(file, columns, optional):
        yield CsvRow(place, {name: plain(cell) for name, cell in cells.items()})


class LabelRow(NamedTuple):
    """A row that an annotator filled in; each reading of a cell refuses what cannot be in it.

    Attributes:
        place: Its file and line.
        cells: Column → text; no cell for the grade is empty.
        owner: The annotator of most rows of the sheet.
    """

    place: str
    cells: Mapping[str, str]
    owner: str

    def wrong(self, column: str, right: str) -> SourceError:
        """Return the error of a cell, with what would be right."""
        return SourceError(f"{self.place}: {column} {self.cells[column][:40]!r}: {right}")

    @property
    def item(self) -> int:
        """The item's number."""
        number = whole_number(_whole(self.cells["item"]), 1, _MOST_ITEMS)
        if number is None:
            raise self.wrong("item", "leave sample, item and annotator as they are")
        return number

    def relevance(self, highest: int) -> float | None:
        """Return the grade, None of one that is undecided."""
        grade = whole_number(_whole(self.cells["grade"]), 0, highest)
        if grade is None and self.cells["grade"] != UNDECIDED:
            right = "0 or 1" if highest == 1 else f"a number from 0 to {highest}"
            raise self.wrong("grade", f"it must be {right}, {UNDECIDED} for undecided, or empty")
        return grade

    @property
    def choice(self) -> int | None:
        """The preferred code, the first (0) or the second (1); None for neither."""
        sides = {"A": 0, "B": 1, UNDECIDED: None}
        if (choice := self.cells["choice"].upper()) not in sides:
            raise self.wrong("choice", f"it must be A, B, {UNDECIDED} for undecided, or empty")
        return sides[choice]

    @property
    def difficulties(self) -> tuple[Difficulty, ...]:
        """The reason why the pair was hard to grade."""
        words = re.split(r"[,;\n]", self.cells["notes"].lower())
        names = [word.strip().replace(" ", "_") for word in words if word.strip()]
        if not set(names) <= _DIFFICULTIES.keys():
            right = f"write {', '.join(_DIFFICULTIES)}; other words belong into comment"
            raise self.wrong("notes", right)
        return tuple(_DIFFICULTIES[name] for name in dict.fromkeys(names))

    @property
    def minutes(self) -> float | None:
        """The minutes that it took, None where they were not told."""
        cell = self.cells["minutes"].replace(",", ".")
        if not cell:
            return None
        if not re.fullmatch(r"\d{1,5}(\.\d{1,9})?", cell):
            raise self.wrong("minutes", "they must be a number of at least 0, such as 2.5")
        return float(cell)


def _whole(cell: str) -> str:
    """Return a cell without the fraction that spreadsheets add to a whole number."""
    return re.sub(r"[.,]00?\Z", "", cell)


def read_label_sheet(file: Path) -> Iterator[LabelRow]:
    """Yield the rows of a sheet that were filled in.

    Raises:
        SourceError: The file is no such sheet, or a row has something but no grade.
    """
    columns = COLUMNS["preference" if "choice" in read_header(file) else "pairs"]
    rows = list(_rows(file, columns))
    owners = Counter(cells["annotator"] for _, cells in rows).most_common(1)
    graded = "choice" if "choice" in columns else "grade"
    for place, cells in rows:
        if cells[graded]:
            yield LabelRow(place, cells, owners[0][0])
        elif filled := [name for name in TO_FILL if cells.get(name)]:
            raise SourceError(
                f"{place}: {filled[0]} is filled in, {graded} is not: fill it in, {UNDECIDED} "
                "for undecided"
            )


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


def is_filled(file: Path) -> bool:
    """Return True if somebody has begun to fill in a sheet of answers, or the file is none."""
    try:
        rows = read_rows(file, OF_ANSWERS)
        return any(cells[name] for _, cells in rows for name in ("annotator", "relevance", "notes"))
    except SourceError:
        return True


def read_answers(file: Path) -> list[AnswerRow]:
    """Return people's verdicts on answers; a row without relevance is not graded.

    Raises:
        SourceError: A column is missing, a relevance is neither 0 nor 1, the number of an answer is
            none, or a row names no annotator, query or code.
    """
    required = [name for name in OF_ANSWERS if name != "notes"]
    answers = []
    for place, cells in _rows(file, required, ["notes"]):
        if not cells["annotator"] and not cells["relevance"]:
            continue
        for name in ("annotator", "query", "code"):
            if not cells[name]:
                raise SourceError(f"{place}: {name} is empty")
        if not cells["relevance"]:
            continue
        relevance = whole_number(cells["relevance"], 0, 1)
        if relevance is None:
            cell = cells["relevance"][:40]
            raise SourceError(f"{place}: relevance {cell!r}: it must be 0 or 1, or empty")
        ordinal = whole_number(cells["answer"], 0, _MOST_ANSWERS)
        if ordinal is None:
            raise SourceError(f"{place}: answer {cells['answer'][:40]!r} is no number")
        answers.append(
            AnswerRow(
                place=place,
                annotator=cells["annotator"],
                code=cells["code"],
                relevance=relevance,
                note=cells.get("notes", ""),
                collection=cells["collection"],
                query_id=QueryId(cells["query_id"]),
                ordinal=ordinal,
            )
        )
    return answers
