"""The control of a piece of code: the same behaviour in another text and other instructions.

A program that fails on mutants because their text differs fails on the control too.
"""

import ast
import re
from collections.abc import Iterator

from infra.languages.python.syntax import UNREADABLE, FunctionNode, parse

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
    renamed = []
    for number, function in enumerate(_functions(tree)):
        if words.isdisjoint(_NAMES_MATTER) or _NAMES_MATTER.isdisjoint(_all_words(function)):
            prefix = _free_prefix(f"{_PREFIX}{number}", taken)
            _rename(function, prefix, told)
            renamed.append((function, prefix))
    return renamed


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, FunctionNode)]


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


def _free_prefix(prefix: str, taken: set[str]) -> str:
    while any(word.startswith(prefix) for word in taken):
        prefix += "_"
    return prefix


def _rename(function: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, told: set[str]) -> None:
    own, others = _names_of(function)
    own.sort(key=lambda name: (name.lineno, name.col_offset))
    stored = {name.id for name in own if not isinstance(name.ctx, ast.Load)} - others - told
    places = dict.fromkeys(name.id for name in own if name.id in stored)
    new_names = {old: f"{prefix}_{place}" for place, old in enumerate(places, start=1)}
    for name in own:
        name.id = new_names.get(name.id, name.id)


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
