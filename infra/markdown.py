"""Markdown made from untrusted text, for dataset cards and reports."""

import re
from collections.abc import Sequence

_ANYWHERE = re.compile(r"([\\`*_\[\]|~$]|:(?=//))")
_BACKTICKS = re.compile(r"`+")
_FIRST = re.compile(r"^(?=[-+#=])|^(\d+)(?=[.)](?:\s|$))")  # would begin a list or a heading


def markdown_text(text: str) -> str:
    """Return text on one line with everything escaped that Markdown or HTML would act upon."""
    line = " ".join(text.split())
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        line = line.replace(character, entity)
    return _FIRST.sub(r"\1\\", _ANYWHERE.sub(r"\\\1", line))


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1
) -> str:
    """Return a table with all cells escaped.

    Args:
        header: Names of the columns.
        rows: Cells, row by row.
        text_columns: Columns from the left that hold text; the others are figures, aligned right.
    """
    rule = ["---"] * text_columns + ["---:"] * (len(header) - text_columns)
    lines = [[markdown_text(cell) for cell in row] for row in (header, *rows)]
    lines.insert(1, rule)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_code(text: str, language: str = "") -> str:
    """Return text as a block of code; backticks in it do not end the block."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
