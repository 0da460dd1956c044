"""Rows of comma-separated files with a header, as suites publish and spreadsheets save them.

Python's own reader: pyarrow's takes no UTF-16 and names no line, and DuckDB's gives no row at all
of a table whose last row has a cell too many.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from infra.errors import SourceError
from tasks.inputs.text import printable, read_text, read_text_lines

_LONGEST_LINE = 1 << 20  # bytes, of a table that is read by lines


class CsvRow(NamedTuple):
    """A row by the names of its columns, and where it begins as ``file:line``."""

    place: str
    cells: Mapping[str, str]


def read_rows(file: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> Iterator[CsvRow]:
    """Yield the rows of a file, their cells trimmed; quoted commas and line ends are text.

    Columns without a name are passed over where they are empty: spreadsheets save them, too.

    Args:
        file: With a header; commas, semicolons or tabs stand between cells.
        columns: What the header must hold.
        optional: What it may hold.

    Raises:
        SourceError: The file is missing or not UTF-8, its header lacks a column or has an unknown
            one, or a row has too few or too many cells.
    """
    records = _records(file)
    place, header = next(records, (f"{printable(file)}:1", []))
    names = [name.strip() for name in header]
    named = [name for name in names if name]
    _check_header(place, named, columns, optional)
    for place, cells in records:
        pairs = list(zip_longest(names, map(str.strip, cells)))
        row = {name: cell for name, cell in pairs if name}
        if None in row.values() or any(cell for name, cell in pairs if not name):
            raise SourceError(
                f"{place}: {len(cells)} cells where the header has {len(named)} columns "
                f"({', '.join(named)}): quote cells that hold commas"
            )
        yield CsvRow(place, row)


def read_table(
    file: Path, columns: Sequence[str], column: Callable[[str], str], files: str
) -> Iterator[CsvRow]:
    """Yield the rows of a table with further columns, which need not fit into memory.

    Cells that a row lacks are empty, cells behind those of the header are passed over.

    Args:
        file: UTF-8.
        columns: What the header must hold.
        column: Name in the header → the column's.
        files: What would be right, for messages.

    Raises:
        SourceError: The file cannot be read, or the header lacks a column.
    """
    records = _records(file, _LONGEST_LINE)
    place, header = next(records, (f"{printable(file)}:1", []))
    names = [column(name) for name in header]
    if missing := [name for name in columns if name not in names]:
        raise SourceError(f"{place}: the header lacks {', '.join(missing)}: give {files}")
    for place, cells in records:
        missed = [""] * (len(names) - len(cells))
        yield CsvRow(place, dict(zip(names, [*cells, *missed], strict=False)))


def read_header(file: Path) -> list[str]:
    """Return the names of a file's columns.

    Raises:
        SourceError: The file is missing or not UTF-8, or its header is no line of CSV.
    """
    _, names = next(_records(file), ("", []))
    return [name.strip() for name in names]


def whole_number(cell: str, lowest: int, highest: int) -> int | None:
    """Return a cell's number, or None where it is no whole number between the bounds."""
    digits = cell.lstrip("0") or cell[-1:]
    if not (cell.isascii() and cell.isdigit() and len(digits) <= len(str(highest))):
        return None
    return int(digits) if lowest <= int(digits) <= highest else None


def _records(file: Path, longest: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows with a cell that is not empty, the header first, each with its place.

    Args:
        file: The file, which is read as a whole, and may be UTF-16.
        longest: The most bytes of a line, where the file is read by lines instead.
    """
    if longest:
        streamed = (f"{line}\n" for _, line in read_text_lines(file, longest))
        first = next(streamed, "")
        lines: Iterable[str] = chain([first], streamed)
    else:
        text = read_text(file)
        first, lines = text.lstrip().partition("\n")[0], io.StringIO(text, newline="")
    separator = max(",;\t", key=first.count)  # as spreadsheets have it
    reader = csv.reader(lines, delimiter=separator, strict=not longest)
    line = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield f"{printable(file)}:{line}", cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise SourceError(f"{printable(file)}:{line}: {error}: check the quotation marks") from None


def _check_header(
    place: str, header: Sequence[str], columns: Sequence[str], optional: Sequence[str]
) -> None:
    known = [*columns, *optional]
    missing = [name for name in columns if name not in header]
    unknown = [name for name in header if name not in known]
    if missing or unknown or len(set(header)) < len(header):
        problem = "".join(
            [
                f" lacks {', '.join(missing)};" if missing else "",
                f" has {', '.join(map(repr, unknown))};" if unknown else "",
                " names a column twice;" if len(set(header)) < len(header) else "",
            ]
        )
        raise SourceError(f"{place}: the header{problem} it must be {','.join(known)}")
