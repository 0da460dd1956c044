"""Reports on the terminal; no figure of a table is broken: what does not fit is named."""

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from flows.cli.console import say, terminal_width
from tasks.reports.document import Block, Code, Facts, Listing, Paragraph, Table, plain
from tasks.reports.text import visible

_GAP = "  "
_LABEL_SHARE = 3  # names may take a third of the width before columns are left out
_ELLIPSIS = "…"
_LONGEST_CELL = 400


def print_block(table: Table, *, rest: str, title: str = "", note: str = "") -> None:
    """Print a table of a report, beneath another title than its caption where one is given."""
    rows = [[plain(cell) for cell in row] for row in table.rows]
    print_table(title or table.caption, table.header, rows, rest=rest, note=note)


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print the text, the facts, the lists and the code of a report."""
    for block in blocks:
        match block:
            case Paragraph(text):
                say(f"\n{plain(text)}", style="bold")
            case Facts(facts):
                say("\n".join(f"{name}: {plain(fact)}" for name, fact in facts.items()))
            case Listing(entries):
                say("\n".join(f"  {plain(entry)}" for entry in entries))
            case Code(text):
                say(text.strip("\n"))
            case str():
                say(block)


def print_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    rest: str,
    note: str = "",
    width: int = 0,
) -> None:
    """Print a table whose first column names its rows and whose others are figures.

    Where it is wider than the terminal, the names are shortened in their middle, and then columns
    are left out from the right: the first ones matter most.

    Args:
        title: What the table shows; none is printed where it is empty.
        header: The columns' names.
        rows: As many cells each as ``header`` has.
        rest: Where all columns can be seen: a file, or an option that writes one.
        note: A line beneath the table.
        width: The width to keep to, that of the terminal when not given.
    """
    width = width or terminal_width()
    header, *rows = [[_on_one_line(cell) for cell in row] for row in (header, *rows)]
    shown, label = _fit(header, rows, width)
    if title:
        say("\n".join(textwrap.wrap(title, width)), style="bold")
    lines = _lines([row[:shown] for row in (header, *rows)], label)
    say(lines[0], style="underline")
    for line in lines[1:]:
        say(line)
    if shown < len(header):
        left_out = ", ".join(header[shown:])
        note = f"{note}\nnot shown, for lack of width: {left_out}; all of it: {rest}".strip()
    for line in note.splitlines():
        say("\n".join(textwrap.wrap(line, width, break_on_hyphens=False)))
    say("")


def _fit(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> tuple[int, int]:
    """Return how many columns fit into ``width``, and the width of the first one."""
    widths = [max(map(cell_len, column)) for column in zip(header, *rows, strict=True)]
    label = min(widths[0], width // _LABEL_SHARE)
    shown, used = 1, label
    while shown < len(widths) and used + len(_GAP) + widths[shown] <= width:
        used += len(_GAP) + widths[shown]
        shown += 1
    return shown, min(widths[0], label + max(0, width - used))


def _lines(rows: Sequence[Sequence[str]], label: int) -> list[str]:
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(
            [
                set_cell_size(_shortened(row[0], label), label),
                *(
                    " " * (width - cell_len(cell)) + cell
                    for cell, width in zip(row[1:], widths[1:], strict=True)
                ),
            ]
        )
        for row in rows
    ]


def _shortened(name: str, width: int) -> str:
    """Return a name with its middle left out where it is wider than ``width``."""
    if cell_len(name) <= width:
        return name
    tail = (width - 1) // 2
    first = set_cell_size(name, width - 1 - tail)
    last = set_cell_size(name[::-1], tail)[::-1]
    return f"{first}{_ELLIPSIS}{last}"


def _on_one_line(text: str) -> str:
    return " ".join(visible(text, _LONGEST_CELL).split())
