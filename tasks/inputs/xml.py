"""Rows of the tables of a Stack Exchange dump: XML with an element a row, its cells as attributes.

Expat reads the file in pieces, without document types and the entities that they define, so that a
piece and a row are all that is in memory. defusedxml, which reads by expat too, lets document types
pass, holds a row of any length, and names no table's line.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from infra.errors import SourceError
from tasks.inputs.text import printable, regular

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
            _refuse_archive(file, stream.read(8))
            stream.seek(0)
            while piece := stream.read(_PIECE):
                yield from reader.rows_of(piece)
            yield from reader.rows_of(b"")
    except OSError as error:
        raise SourceError(f"{printable(file)} cannot be read: {error.strerror}") from None


def _refuse_archive(file: Path, start: bytes) -> None:
    for magic, kind in _ARCHIVES.items():
        if start.startswith(magic):
            raise SourceError(
                f"{printable(file)}:1: this is a {kind} archive: unpack it, and name the .xml "
                "file that was in it"
            )


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
            self._refuse(f"the encoding {encoding}: convert the file with iconv -t UTF-8")

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
