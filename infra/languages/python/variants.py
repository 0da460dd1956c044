"""Variants of a piece of code that tell what a program makes of it.

One ends at a line, others return something else. The control has the same behaviour in another text
and other instructions: a program that fails on mutants because their text differs fails on the
control too.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from infra.languages.python.syntax import UNREADABLE, FunctionNode, parse, parse_or_none

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
# A function that calls one of these, or reads its frame, may know the names of its variables.
_NAMES_MATTER = {
    "locals", "vars", "dir", "eval", "exec", "format_map", "_getframe", "currentframe", "stack",
}  # fmt: skip
_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
_PREFIX = "local_"
_WORD = re.compile(r"\w+")
_NAMING_FIELDS = ("name", "names", "asname", "rest", "arg")  # which bind or declare names as text


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


def renamed_equivalent(code: str) -> str:
    """Return code that does the same, with other local names and one more in each function.

    A variable is renamed where its function alone sees it and no text of the code names it.
    Functions that may look at their own variables stay as they are; so does code that does not
    parse as Python 3.
    """
    try:
        tree = parse(code)
        for function, prefix in _rename_variables(tree):
            has_documentation = ast.get_docstring(function, clean=False) is not None
            spare = ast.Assign([ast.Name(f"{prefix}_0", ast.Store())], ast.Constant(None))
            function.body.insert(int(has_documentation), spare)
        return ast.unparse(ast.fix_missing_locations(tree))
    except UNREADABLE:
        return code


def _rename_variables(
    tree: ast.Module,
) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Rename in a tree the variables that one function alone sees, in the order of their places.

    One that a text of the tree names keeps its name, as in ``table.query("a > @limit")``: what the
    text is handed to may look it up. Documentation is no such text.

    Return the functions that may not look at their own variables, each with the prefix of the new
    names, which no other name has.
    """
    words = _all_words(tree)
    told = _words_of_texts(tree)
    taken = {word for word in words | told if word.startswith(_PREFIX)}
    functions = [node for node in ast.walk(tree) if isinstance(node, FunctionNode)]
    renamed = []
    for number, function in enumerate(functions):
        if not (words.isdisjoint(_NAMES_MATTER) or _NAMES_MATTER.isdisjoint(_all_words(function))):
            continue
        prefix = f"{_PREFIX}{number}"
        while any(word.startswith(prefix) for word in taken):
            prefix += "_"
        own, others = _names_of(function)
        own.sort(key=lambda name: (name.lineno, name.col_offset))
        stored = {name.id for name in own if not isinstance(name.ctx, ast.Load)} - others - told
        places = dict.fromkeys(name.id for name in own if name.id in stored)
        new_names = {old: f"{prefix}_{place}" for place, old in enumerate(places, start=1)}
        for name in own:
            name.id = new_names.get(name.id, name.id)
        renamed.append((function, prefix))
    return renamed


def _words(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node holds as text."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    for field in _NAMING_FIELDS:
        value = getattr(node, field, None)
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str):
                yield word.partition(".")[0]


def _all_words(tree: ast.AST) -> set[str]:
    return {word for node in ast.walk(tree) for word in _words(node)}


def _words_of_texts(tree: ast.AST) -> set[str]:
    """Return the words of a tree's texts, without those of its documentation."""
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | FunctionNode)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return {
        word
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in documentation
        for word in _WORD.findall(node.value)
    }


def _names_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> tuple[list[ast.Name], set[str]]:
    """Return a function's own variables in its body, and the names that must stay.

    Those are its parameters, what it declares or binds otherwise than by assignment, and all names
    of the functions, classes and comprehensions inside it, which may share its variables.
    """
    own, others = [], _all_words(function.args)
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            own.append(node)
            continue
        if isinstance(node, _SCOPES):
            others |= _all_words(node)
            continue
        others.update(_words(node))
        waiting.extend(ast.iter_child_nodes(node))
    return own, others
