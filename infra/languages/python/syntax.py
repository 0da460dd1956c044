"""Parsing of untrusted Python without warnings, and its layout, cut out of files or copied."""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Sequence

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # what parsing can raise
_FEED = re.compile(r"^[ \t\f]*\f(?=[ \t]*\S)")
_FIRST = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\n)*+([ \t\f]*)")
_AS_WRITTEN = {tokenize.STRING, tokenize.COMMENT}


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a text, without a warning about what is in it.

    Raises:
        SyntaxError: The text is not Python as this interpreter reads it, or is nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are no fault of ours
            return ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "nested too deeply") from None


def variable_of(node: ast.AST) -> str:
    """Return the name that a node itself binds to any value, "" for none.

    It is that of a variable, a parameter, a caught exception or a part of a pattern.
    """
    match node:
        case (
            ast.Name(id=name, ctx=ast.Store())
            | ast.arg(arg=name)
            | ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            return name
    return ""


def is_deep(tree: ast.AST, most: int) -> bool:
    """Return True if a tree has more than so many levels.

    What reads trees by recursion, as `ast.unparse` does, fails on trees that parsing still takes.
    """
    level = [tree]
    for _ in range(most):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def parse_or_none(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, None where it is no Python 3."""
    try:
        return parse(text)
    except SyntaxError:
        return None


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
    try:
        is_same = text == bare or not bare or ast.dump(parse(text)) == ast.dump(parse(bare))
    except UNREADABLE:
        return text
    return bare if is_same else text


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
