"""A document as lines for a terminal, of any width, which never break a figure.

They have no drawings and no details.
"""

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len, set_cell_size

from tasks.reports.document import (
    Block,
    Code,
    Document,
    Figure,
    Items,
    KeyValues,
    Paragraph,
    Table,
    Text,
    inline_spans,
    plain_text,
)
from tasks.reports.text import visible

Line = tuple[str, str]  # a text of one or more lines, and its style, as rich calls it
_BLOCKS, _ROWS = 15, 40  # of a section and of a table that a page has whole
_LONGEST_CELL = 400
_UNBOUNDED = 10_000
_GAP, _SHORTEST = 2, 8
_LABEL_SHARE = 3  # names may take a third of the width before columns are left out


@dataclass(frozen=True)
class Terminal:
    """The place that lines are made for.

    Attributes:
        width: Its columns.
        rest: Where all rows and columns can be seen, such as "on the page".
        blocks: The most blocks of a section, None of all.
        rows: The most rows of a table or a list.
    """

    width: int
    rest: str
    blocks: int | None = None
    rows: int | None = None

    def document(self, document: Document, parts: Collection[str] = ()) -> Iterator[Line]:
        """Yield lead and sections, or sections of some names with the titles of the others."""
        if document.title:
            yield from self._text(document.title, style="bold")
        yield from self._blocks(document.lead)
        others = []
        for section in document.sections:
            if not section.blocks:
                continue
            if parts and section.name not in parts:
                others.append(section.title)
                continue
            yield from self._text(f"\n{section.title}", style="bold")
            yield from self._blocks(section.blocks)
        if others:
            yield from self._text(f"more on the page: {', '.join(others)}")

    def _text(self, text: Text, style: str = "", deeper: str = "") -> Iterator[Line]:
        """Yield a text that is broken between words; all but its first line stand deeper."""
        filled = (
            textwrap.fill(line, self.width, subsequent_indent=deeper, break_on_hyphens=False,
                          break_long_words=False, replace_whitespace=False)
            for line in plain_text(text).split("\n")
        )  # fmt: skip
        yield "\n".join(filled), style

    def _more(self, whole: Sequence[object], most: int | None) -> Iterator[Line]:
        if most and len(whole) > most:
            yield from self._text(f"… and {len(whole) - most:,} more {self.rest}")

    def _blocks(self, blocks: Sequence[Block]) -> Iterator[Line]:
        for each in blocks[: self.blocks]:
            match each:
                case Code(text):
                    yield text.strip("\n"), ""
                case Table():
                    yield from self._table(each)
                case Figure(table=table) if table.header:
                    yield from self._table(table)
                case Items(entries):
                    yield from self._list([f"  {plain_text(entry)}" for entry in entries])
                case KeyValues(values):
                    named = values.items()
                    yield from self._list([f"{key}: {plain_text(value)}" for key, value in named])
                case Paragraph(text, kind) if kind not in ("", "remark"):
                    yield f"\n{plain_text(text)}", "bold"
                case str() | Paragraph():
                    yield from self._text(each if isinstance(each, str) else each.text)
        yield from self._more(blocks, self.blocks)

    def _list(self, entries: Sequence[str]) -> Iterator[Line]:
        for entry in entries[: self.rows]:
            yield from self._text(entry, deeper="    ")
        yield from self._more(entries, self.rows)

    def _table(self, table: Table) -> Iterator[Line]:
        """Yield a table: one of figures in columns, one of texts alone row by row."""
        if table.caption:
            yield from self._text(table.caption, style="bold")
        if not table.rows and table.empty:
            yield from self._text(table.empty)
        elif table.text_columns < len(table.header):
            yield from self._columns(table)
        else:
            named = [zip(table.header, map(plain_text, row), strict=True) for row in table.rows]
            rows = ["\n".join(f"{name}: {cell}" for name, cell in row) for row in named]
            yield "\n\n".join(rows[: self.rows]), ""
        yield from self._more(table.rows, self.rows)

    def _columns(self, table: Table) -> Iterator[Line]:
        """Yield header and rows.

        Where they are wider than the terminal, small print is left out, the names of the rows are
        shortened in their middle, and then columns are left out from the right: the first ones
        matter most.
        """
        rows, left_out = _cells(table, self.rows), []
        if self._fit_count(rows) < len(rows[0]):
            large = _cells(table, self.rows, is_small_print=False)
            rows, left_out = large, ["small print"] * (large != rows)
        shown = max(2, self._fit_count(rows))
        names, *figures = map(_widest, zip(*(row[:shown] for row in rows), strict=True))
        label = max(_SHORTEST, min(names, self.width - sum(_GAP + each for each in figures)))
        texts = table.text_columns - len(table.header) + len(rows[0]) - 1  # beside the names
        for place, (name, *cells) in enumerate(rows):
            line = set_cell_size(_shorten(name, label), label)
            for column, (cell, figure) in enumerate(zip(cells, figures, strict=False)):
                blank = " " * (figure - cell_len(cell))
                line += " " * _GAP + (cell + blank if column < texts else blank + cell)
            yield line, "" if place else "underline"
        if left_out := [*left_out, *rows[0][shown:]]:
            names_of = ", ".join(left_out)
            yield from self._text(
                f"not shown, for lack of width: {names_of}; all of it {self.rest}"
            )
        yield "", ""

    def _fit_count(self, rows: Sequence[Sequence[str]]) -> int:
        """Return the number of columns that fit, if names take no more than their share."""
        names, *figures = map(_widest, zip(*rows, strict=True))
        ends = [0, *accumulate(_GAP + figure for figure in figures)]
        return sum(end <= self.width - min(names, self.width // _LABEL_SHARE) for end in ends)


def terminal_lines(
    document: Document, width: int | None, page: str, rest: str, parts: Collection[str] = ()
) -> Iterator[Line]:
    """Return the lines of a document.

    A terminal shows the first rows of long tables and the first blocks of long sections where a
    page has all; a file or a pipe, which has no width, takes them whole.

    Args:
        document: The document.
        width: The columns of the terminal.
        page: The file that has the document whole; "" where there is none.
        rest: Where all columns can be seen without it.
        parts: The sections that are shown, by their names; the others' titles are. Empty takes all.
    """
    bounds = (_BLOCKS, _ROWS) if page and width else (None, None)
    terminal = Terminal(width or _UNBOUNDED, "on the page" if page else f"in {rest}", *bounds)
    is_after_gap = False
    for text, style in terminal.document(document, parts):
        yield text.removeprefix("\n") if is_after_gap else text, style
        is_after_gap = not text
    if page:
        yield f"{document.kind.lower()}: {page}", ""


def _cells(table: Table, most: int | None, *, is_small_print: bool = True) -> list[list[str]]:
    """Return header and first rows, a line a cell; a first column without a name joins the next."""
    found = []
    for row in (table.header, *table.rows[:most]):
        texts = [plain_text(each if is_small_print else _large_print(each)) for each in row]
        cells = [" ".join(visible(each, _LONGEST_CELL).split()) for each in texts]
        if table.text_columns > 1 and not table.header[0]:
            cells = [f"{cells[0]:<2} {cells[1]}", *cells[2:]]
        found.append(cells)
    return found


def _large_print(text: Text) -> Text:
    spans = inline_spans(text)
    return tuple(each for each in spans if isinstance(each, str) or each.kind != "note")


def _widest(column: Iterable[str]) -> int:
    return max(map(cell_len, column))


def _shorten(name: str, width: int) -> str:
    """Return a name with its middle left out where it is wider than ``width``."""
    if cell_len(name) <= width:
        return name
    tail = (width - 1) // 2
    first = set_cell_size(name, width - 1 - tail)
    last = set_cell_size(name[::-1], tail)[::-1]
    return f"{first}…{last}"
