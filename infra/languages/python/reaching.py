"""Code that ends its process where a line is reached, which tells whether a program runs it."""

import ast

from infra.languages.python.syntax import UNREADABLE, parse_or_none

_STOP = "__import__('os')._exit(1)"


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
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except UNREADABLE:
        return ""
