"""Sheets on which people label a sample: written for one annotator, and read back.

A CSV file, in which a row has the sample, the item's number, the annotator, the texts, and cells to
fill in. Spreadsheets change files: their separators, UTF-16, byte order marks, line ends, the order
of rows and columns and a grade ``1.0`` are read all the same.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from infra.atomic import atomic_write
from infra.errors import SourceError
from infra.records import Difficulty
from tasks.benchmarks.sheets import inert, plain
from tasks.files.csv_rows import read_header, read_rows, whole_number

_FIRST = ("sample", "item", "annotator", "query")
_LAST = ("notes", "comment", "minutes")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "pairs": (*_FIRST, "code", "grade", *_LAST, "program"),
    "answers": (*_FIRST, "code", "grade", *_LAST, "program"),
    "preference": (*_FIRST, "code_a", "code_b", "choice", *_LAST),
}
UNDECIDED = "?"
_TO_FILL = ("grade", "choice", *_LAST, "program")
_DIFFICULTIES: Mapping[str, Difficulty] = {name: name for name in get_args(Difficulty)}
_MOST_ITEMS = 10**7


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
            right = f"it must be a number from 0 to {highest}, {UNDECIDED} for undecided, or empty"
            raise self.wrong("grade", right)
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
            raise self.wrong("minutes", "they must be a number, such as 2.5")
        return float(cell)


def _whole(cell: str) -> str:
    """Return a cell without the fraction that spreadsheets add to a whole number."""
    return re.sub(r"[.,]00?\Z", "", cell)


def write_label_sheet(file: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write a sheet, whole or not at all.

    Args:
        file: Its path.
        rows: Column → cell, the same columns in each.
    """
    with (
        atomic_write(file) as partial,
        partial.open("w", encoding="utf-8-sig", newline="") as stream,  # Excel knows UTF-8 by it
    ):
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(rows[0])
        writer.writerows([inert(cell) for cell in row.values()] for row in rows)


def read_label_sheet(file: Path) -> Iterator[LabelRow]:
    """Yield the rows of a sheet that were filled in.

    Raises:
        SourceError: The file is no such sheet, or a row has something but no grade.
    """
    columns = COLUMNS["preference" if "choice" in read_header(file) else "pairs"]
    rows = list(read_rows(file, columns))
    owners = Counter(plain(cells["annotator"]) for _, cells in rows).most_common(1)
    for place, cells in rows:
        row = LabelRow(place, {name: plain(cell) for name, cell in cells.items()}, owners[0][0])
        graded = "choice" if "choice" in row.cells else "grade"
        if row.cells[graded]:
            yield row
        elif filled := [name for name in _TO_FILL if row.cells.get(name)]:
            raise SourceError(
                f"{place}: {filled[0]} is filled in, {graded} is not: fill it in, {UNDECIDED} "
                "for undecided"
            )
