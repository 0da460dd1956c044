"""Code that returns nothing: each container that leaves it is an empty one of the same type."""

import ast

from infra.languages import Mutant
from infra.languages.python.syntax import parse_or_none

_NAME = "_cosqa_returned"
# Calls of the code by itself, as of a helper, are left alone: it goes on to what it returns.
_TEXT = """
def _cosqa_returned(function):
    import copy, functools, sys
    def nothing_of(item):
        if hasattr(item, "__next__"):
            empty = item if next(item, item) is item else (none for none in ())
        else:
            empty = next(ways(item), item)
        if empty is not item and {tells}:
            raise BaseException("a container is returned")
        return empty
    def ways(item):
        for way in (
            lambda: item[:0], lambda: (other := copy.copy(item), other.clear())[0],
            lambda: type(item)(), lambda: getattr({{}}, type(item).__name__[5:])(),
        ):
            try:
                if len(item) > len(empty := way()):
                    yield empty
            except Exception:
                pass
    def inside(value):
        if isinstance(value, dict):
            return {{key: nothing_of(item) for key, item in value.items()}}
        items = [nothing_of(item) for item in value] if isinstance(value, (list, tuple)) else value
        return getattr(value, "_make", tuple)(items) if isinstance(value, tuple) else items
    @functools.wraps(function)
    def call(*arguments, **named):
        value = function(*arguments, **named)
        return value if sys._getframe(1).f_globals is globals() else {emptied}(value)
    return call
"""


def emptied_of(code: str) -> tuple[tuple[Mutant, Mutant], ...]:
    """Return mutants that return empty containers, each with one that raises where that differs.

    They are for what is returned itself and for what is right inside it; none of code that is no
    Python 3. Coroutines are left alone.
    """
    tree = parse_or_none(code)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef):
            node.decorator_list.append(ast.Name(_NAME, ast.Load()))
    try:
        return tuple(
            (_mutant(tree, emptied, "False"), _mutant(tree, emptied, "True"))
            for emptied in ("nothing_of", "inside")
            if tree
        )
    except (RecursionError, ValueError):
        return ()


def _mutant(tree: ast.Module, emptied: str, tells: str) -> Mutant:
    first = sum(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    ) + (ast.get_docstring(tree) is not None)
    added = ast.parse(_TEXT.format(emptied=emptied, tells=tells)).body
    body = [*tree.body[:first], *added, *tree.body[first:]]
    code = ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
    return Mutant(kind="empty", line=0, change="return x → return an empty one", code=code)
