"""Parsing of untrusted Python without warnings, and the type of its function nodes."""

import ast
import warnings

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # what parsing can raise


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
