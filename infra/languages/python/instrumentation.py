"""Code changed to tell what a program makes of it: it ends at a line, or returns something else."""

import ast
from pathlib import Path

from infra.languages.python.syntax import UNREADABLE, parse_or_none

_STOP = "__import__('os')._exit(1)"
_DECORATOR = "_cosqa_returned"
# Way → the file that defines the decorator, and what is filled in beside TELLS.
_WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "empty": ("returned_empty.py", {"EMPTIED": "nothing_of"}),
    "empty inside": ("returned_empty.py", {"EMPTIED": "inside"}),
    "full": ("returned_full.py", {"AGREES": "False"}),
    "full of anything": ("returned_full.py", {"AGREES": "True"}),
    "unseen": ("returned_unseen.py", {}),
}


def returning(code: str, way: str, *, tells: bool) -> str:
    """Return code in which each function is decorated by what a file defines; see `Language`.

    None has code that is no Python 3, or is nested too deeply; coroutines are left alone.
    """
    tree = parse_or_none(code)
    if not tree:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list.append(ast.Name(_DECORATOR, ast.Load()))
    first = sum(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    ) + (ast.get_docstring(tree) is not None)
    file, fields = _WAYS[way]
    text = Path(__file__).with_name(file).read_text("utf-8")
    for name, value in {"TELLS": str(tells), **fields}.items():
        text = text.replace(name, value)
    tree.body[first:first] = ast.parse(text).body
    return _unparsed(tree)


def stopping_at(code: str, line: int) -> str:
    """Return code that ends its process before the innermost statement of a line.

    It is "" where the line is in none, or the code is no Python 3.
    """
    tree = parse_or_none(code)
    found: tuple[list[ast.stmt], int] | None = None
    left: list[ast.AST] = [tree] if tree else []
    while left:
        node = left.pop()
        for _, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            for place, part in enumerate(parts):
                if isinstance(part, ast.stmt) and part.lineno <= line <= (part.end_lineno or 0):
                    found, left = (parts, place), [part]
                elif isinstance(part, ast.excepthandler | ast.match_case):
                    left.append(part)
    if tree is None or found is None:
        return ""
    statements, place = found
    statements.insert(place, *ast.parse(_STOP).body)
    return _unparsed(tree)


def _unparsed(tree: ast.Module) -> str:
    """Return the code of a tree, "" where it is nested too deeply."""
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except UNREADABLE:
        return ""
