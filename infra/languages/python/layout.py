"""The layout of Python that was cut out of files or copied from pages."""

import ast
import io
import re
import tokenize
from collections.abc import Sequence

from infra.languages.python.syntax import UNREADABLE, parse

_FEED = re.compile(r"^[ \t\f]*\f(?=[ \t]*\S)")
_FIRST = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\n)*+([ \t\f]*)")
_AS_WRITTEN = {tokenize.STRING, tokenize.COMMENT}


def plain_layout(text: str) -> str:
    """Return Python with Unix line ends, at the left margin, and without odd blanks.

    A byte order mark goes, and form feeds in an indentation, which Python passes over too. Blanks
    that do not break become blanks. Lines stay in number, and texts and comments as they are. A
    text that is no Python then either keeps its margin and its blanks.
    """
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    blanked = text.replace("\xa0", " ")
    first = _FIRST.match(blanked)
    margin = first[1].rpartition("\f")[2] if first else ""
    if not (margin or "\f" in text or "\xa0" in text):
        return text
    try:
        if margin and len(parse(f"if True:\n{blanked}").body) > 1:
            return text  # a part of it stands left of its beginning
        moved = _moved(text.split("\n"), blanked, margin)
        parse(moved)
    except (*UNREADABLE, tokenize.TokenError):
        return text
    return moved


def normalised(code: str) -> str:
    """Return code in its plain layout, without empty lines around it.

    White space at the ends of lines goes where Python's syntax says that it means nothing; inside a
    text it is part of a value, and of what is no Python 3 nobody knows.
    """
    text = plain_layout(code).strip("\n")
    bare = "\n".join(map(str.rstrip, text.split("\n"))).strip("\n")
    return bare if text == bare or not bare or _is_same_program(text, bare) else text


def _is_same_program(text: str, other: str) -> bool:
    try:
        return ast.dump(parse(text)) == ast.dump(parse(other))
    except UNREADABLE:
        return False


def _moved(written: Sequence[str], blanked: str, margin: str) -> str:
    """Return the lines without margin and form feeds, texts and comments as they were written."""
    lines, inside = blanked.split("\n"), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(f"{blanked}\n").readline):
        if token.type in _AS_WRITTEN:
            (first, begin), (last, end) = token.start, token.end
            for row in range(first - 1, last):
                start = begin if row == first - 1 else 0
                stop = end if row == last - 1 else len(lines[row])
                lines[row] = lines[row][:start] + written[row][start:stop] + lines[row][stop:]
            inside.update(range(first, last))
    return "\n".join(
        line if row in inside else _FEED.sub("", line, count=1).removeprefix(margin)
        for row, line in enumerate(lines)
    )
