"""Texts of others: their words, and Markdown that is made from them, for cards and reports."""

import re
from collections.abc import Sequence
from unicodedata import normalize

import regex

# Runs of lower case with at most one leading capital, acronyms, letters without case, digits: what
# is left of an identifier when it is split at case and underscore. A mark belongs to its letter.
_WORD = regex.compile(
    r"\p{Lu}[\p{Lu}\p{M}]*(?![\p{Ll}\p{M}])|(?:\p{Lu}\p{M}*)?\p{Ll}[\p{Ll}\p{M}]*"
    r"|(?:[\p{Lo}\p{Lm}\p{Lt}\p{Nl}\p{No}]\p{M}*)+|\d+"
)
_ASCII = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")  # the same, in half the time
_ANYWHERE = re.compile(r"([\\`*_\[\]|~$]|:(?=//))")
_BACKTICKS = re.compile(r"`+")
_FIRST = re.compile(r"^(?=[-+#=])|^(\d+)(?=[.)](?:\s|$))")  # would begin a list or a heading


NOT_BLANK = r"[^\s\uFEFF]"  # for a field's pattern: something but blanks and byte order marks


def is_blank(text: str) -> bool:
    """Return True if nothing is left of a text without a byte order mark and blanks."""
    return not text.lstrip("\ufeff").strip()


def words(text: str) -> list[str]:
    """Return lower-cased words, identifiers split: ``readJSONFile_2`` → read, json, file, 2.

    Letters that Unicode holds for the same, such as é in one character or in two, are the same.
    """
    found = _ASCII.findall(text) if text.isascii() else _WORD.findall(normalize("NFC", text))
    return [word.lower() for word in found]


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
