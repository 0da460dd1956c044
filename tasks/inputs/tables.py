"""Tables by rows: CSV with a header, Parquet, and the XML of a Stack Exchange dump.

Expat reads XML in pieces, without document types and the entities that they define, so that a piece
and a row are all that is in memory. defusedxml, which reads by expat too, lets document types pass,
holds a row of any length, and names no table's line.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

import pyarrow as pa
import pyarrow.parquet as pq

from infra.errors import PublishError, SourceError
from tasks.inputs.text import printable, read_text, read_text_lines, regular

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
        SourceError: The file is missing, not UTF-8 or empty, its header lacks a column or has an
            unknown one, or a row has too few or too many cells.
    """
    records = _records(file)
    place, header = next(records, ("", []))
    known = [*columns, *optional]
    if not header:
        raise SourceError(
            f"{printable(file)}: the file is empty: its header must be {','.join(known)}"
        )
    names = [name.strip() for name in header]
    named = [name for name in names if name]
    missing = [name for name in columns if name not in named]
    unknown = [name for name in named if name not in known]
    if missing or unknown or len(set(named)) < len(named):
        problem = "".join(
            [
                f" lacks {', '.join(missing)};" if missing else "",
                f" has {', '.join(map(repr, unknown))};" if unknown else "",
                " names a column twice;" if len(set(named)) < len(named) else "",
            ]
        )
        raise SourceError(f"{place}: the header{problem} it must be {','.join(known)}")
    for place, cells in records:
        pairs = list(zip_longest(names, map(str.strip, cells)))
        row = {name: cell for name, cell in pairs if name}
        if None in row.values() or any(cell for name, cell in pairs if not name):
            raise SourceError(
                f"{place}: {len(cells)} cells where the header has {len(named)} columns "
                f"({', '.join(named)}): quote cells that hold commas"
            )
        yield CsvRow(place, row)


def stream_rows(
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


# What Arrow, pydantic and the parsers of JSON texts in columns raise for a file that is not such a
# table; Arrow's own errors of damaged pages are OSError.
_UNREADABLE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError,
               RecursionError)  # fmt: skip


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Turn the error of what reads a file inside the ``with`` into one that names the file.

    Raises:
        PublishError: The file is no table, or not the one that belongs there.
    """
    try:
        yield
    except _UNREADABLE as error:
        [problem, *_] = str(error).splitlines() or [""]
        raise PublishError(
            f"{file} cannot be read ({type(error).__name__}: {problem[:200]}): publish again"
        ) from error


def read_table(file: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a Parquet file's columns, all if not given.

    Raises:
        PublishError: The file is no Parquet, or lacks a column.
    """
    with readable(file):
        table = pq.read_table(file, columns=list(columns) if columns else None)
        table.validate(full=True)
        return table.select(columns) if columns else table


_PIECE = 1 << 20
_MOST_BYTES = 1 << 23  # between two rows; posts have at most 30,000 characters
_ARCHIVES = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ": "xz",
}


class XmlRow(NamedTuple):
    """A row by the names of its columns, and its line in the file from 1."""

    line: int
    cells: Mapping[str, str]


def read_xml_rows(file: Path, table: str) -> Iterator[XmlRow]:
    """Yield the rows of a table as they are read.

    Args:
        file: UTF-8, or UTF-16 with its byte order mark; unpacked.
        table: Name of the outermost element, whose children are named ``row``.

    Raises:
        SourceError: The file is missing, an archive, no such table, not well formed or not UTF-8,
            has a document type, or a row of more than 8 MiB; the message names the line.
    """
    reader = _Reader(file, table)
    try:
        with regular(file).open("rb") as stream:
            start = stream.read(8)
            for magic, kind in _ARCHIVES.items():
                if start.startswith(magic):
                    raise SourceError(
                        f"{printable(file)}:1: this is a {kind} archive: unpack it, and name the "
                        ".xml file that was in it"
                    )
            stream.seek(0)
            while piece := stream.read(_PIECE):
                yield from reader.rows_of(piece)
            yield from reader.rows_of(b"")
    except OSError as error:
        raise SourceError(f"{printable(file)} cannot be read: {error.strerror}") from None


class _Reader:
    """Expat with the handlers that note rows and refuse the rest."""

    def __init__(self, file: Path, table: str) -> None:
        self._file, self._table = file, table
        self._rows: list[XmlRow] = []
        self._depth = self._idle = 0
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.XmlDeclHandler = self._declared
        self._parser.StartDoctypeDeclHandler = self._document_type
        self._parser.StartElementHandler = self._opened
        self._parser.EndElementHandler = self._closed

    def rows_of(self, piece: bytes) -> list[XmlRow]:
        """Return the rows that end in the next piece of the file; an empty one is its end."""
        self._rows = []
        self._idle += len(piece)
        try:
            self._parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            self._refuse(
                f"{expat.errors.messages[error.code]}: no well-formed XML in UTF-8; the file is "
                "damaged or cut short, so unpack or copy it again",
                error.lineno,
            )
        if self._idle > _MOST_BYTES:
            self._refuse(
                f"more than {_MOST_BYTES:,} bytes without the end of a row: this is no table of a "
                "Stack Exchange dump"
            )
        return self._rows

    def _refuse(self, problem: str, line: int = 0) -> NoReturn:
        line = line or self._parser.CurrentLineNumber
        raise SourceError(f"{printable(self._file)}:{line}: {problem}")

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if (encoding or "utf-8").lower() not in ("utf-8", "us-ascii"):
            self._refuse(
                f"the encoding {encoding}: convert the file with iconv -f {encoding} -t UTF-8, and "
                "write UTF-8 where it names its encoding"
            )

    def _document_type(self, *_: object) -> None:
        self._refuse(
            "a document type, which can define entities without end: a Stack Exchange dump has "
            "none; delete it"
        )

    def _opened(self, name: str, cells: dict[str, str]) -> None:
        wanted = (self._table, "row")[self._depth] if self._depth < 2 else None
        if name != wanted:
            self._refuse(
                f"the element {name[:80]!r}: a table {self._table} is <{self._table}> with one "
                "<row …/> for each row"
            )
        self._depth += 1
        if name == "row":
            self._rows.append(XmlRow(self._parser.CurrentLineNumber, cells))

    def _closed(self, _name: str) -> None:
        self._depth -= 1
        self._idle = 0
