"""Mutants of a piece of code: the code with one mistake each, made from its syntax tree.

A test program that passes on the mutants as well as on the code tests little. Mutants are made
without running anything, in an order that follows from the code alone (DeMillo, Lipton and Sayward,
"Hints on test data selection", 1978).
"""

import ast
import warnings
from collections.abc import Iterator
from itertools import dropwhile, islice, takewhile, zip_longest
from types import CodeType

from infra.languages import Mutant
from infra.languages.python.mutation_operators import (
    OPERATORS,
    STRONG_OPERATORS,
    Kind,
    Operators,
)
from infra.languages.python.syntax import UNREADABLE, FunctionNode, parse, parse_or_none

_NOT_MUTATED = {
    "decorator_list", "returns", "annotation", "type_comment", "ctx",
    "defaults", "kw_defaults",  # a test that gives the argument cannot notice them
}  # fmt: skip
# Nodes that are written out for the mutants of a kind of operators, all together: a second or two.
# Code that runs nowhere (`if 0:`) has mutants without end, and each is equal to the code.
_MOST_NODES = 300_000
_LONGEST_SHOWN = 80  # characters


def mutants_of(code: str, limit: int) -> tuple[Mutant, ...]:
    """Return at most ``limit`` mutants, as many kinds as there are, none equal to the code.

    Mutants that compile to the same instructions as the code or as an earlier mutant are left out;
    of very long code so are those that come late.
    Code that does not parse as Python 3 has none.
    """
    return _first(limit, takewhile(_is_ordinary, _different_mutants(code)))


def strong_mutants_of(code: str, limit: int) -> tuple[Mutant, ...]:
    """Return at most ``limit`` other mutants, whose mistakes nearly any test would notice.

    They are for code with few ordinary mutants, such as a single call.
    """
    return _first(limit, dropwhile(_is_ordinary, _different_mutants(code)))


def in_layout(code: str, mutant: Mutant) -> str:
    """Return a mutant with the code's own layout and comments, where its mistake is in one line.

    Of a compound statement that is the first. Else, and where that would be another program, it is
    as Python writes trees out.
    """
    before, _, after = mutant.change.partition(" → ")
    tree, lines = parse_or_none(code), code.encode().split(b"\n")
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        if node.lineno == mutant.line and _shown(node) == before:
            line = lines[mutant.line - 1]
            end = node.end_col_offset if node.end_lineno == mutant.line else len(line)
            line = line[: node.col_offset] + after.encode() + line[end:]
            made = b"\n".join((*lines[: mutant.line - 1], line, *lines[mutant.line :])).decode()
            changed = parse_or_none(made)
            if changed and ast.unparse(changed) == mutant.code:
                return made
    return mutant.code


def _first(limit: int, mutants: Iterator[Mutant]) -> tuple[Mutant, ...]:
    try:
        return tuple(islice(mutants, limit))
    except UNREADABLE:
        return ()


def _is_ordinary(mutant: Mutant) -> bool:
    return mutant.kind in OPERATORS


def _different_mutants(code: str) -> Iterator[Mutant]:
    """Yield mutants, those of ordinary operators first, each made only when it is asked for."""
    tree = parse(code)
    seen = {_instructions(ast.unparse(tree)), None}
    most = _MOST_NODES // sum(1 for _ in ast.walk(tree))
    for operators in (OPERATORS, STRONG_OPERATORS):
        for mutant in islice(_mutants(tree, operators), most):
            instructions = _instructions(mutant.code)
            if instructions not in seen:
                seen.add(instructions)
                yield mutant


def _mutants(tree: ast.Module, operators: Operators) -> Iterator[Mutant]:
    """Yield mutants by the given operators, one operator after the other in turn."""
    made: dict[Kind, list[tuple[_Place, ast.AST]]] = {kind: [] for kind in operators}
    unread = _unread(tree)
    for place in _places(tree):
        if place.node in unread:
            continue
        for kind, replacements in operators.items():
            made[kind] += ((place, replacement) for replacement in replacements(place.node))
    for turn in zip_longest(*made.values()):
        for kind, mistake in zip(made, turn, strict=True):
            if mistake is not None:
                place, replacement = mistake
                yield place.mutant(tree, kind, replacement)


class _Place:
    """A node and its place in the tree, so that it can be replaced for a moment."""

    def __init__(self, parent: ast.AST, field: str, index: int | None) -> None:
        self._parent = parent
        self._field = field
        self._index = index
        value = getattr(parent, field)
        self.node: ast.AST = value if index is None else value[index]

    def mutant(self, tree: ast.Module, kind: Kind, replacement: ast.AST) -> Mutant:
        before = _shown(self.node)
        self._set(ast.copy_location(replacement, self.node))
        try:
            code = ast.unparse(tree)
        finally:
            self._set(self.node)
        placed = self.node.iter if isinstance(self.node, ast.comprehension) else self.node
        line = getattr(placed, "lineno", 0)
        return Mutant(kind=kind, line=line, change=f"{before} → {_shown(replacement)}", code=code)

    def _set(self, node: ast.AST) -> None:
        if self._index is None:
            setattr(self._parent, self._field, node)
        else:
            getattr(self._parent, self._field)[self._index] = node


def _unread(tree: ast.Module) -> set[ast.AST]:
    """Return arguments that no function of the module reads, and calls of those that do nothing.

    A mistake there changes nothing.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, FunctionNode)}
    unread: set[ast.AST] = set()
    for node in ast.walk(tree):
        call = node.value if isinstance(node, ast.Expr) else node
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if (function := functions.get(call.func.id)) is None:
            continue
        read = {part.id for part in ast.walk(function) if isinstance(part, ast.Name)}
        taken = function.args
        positional = [argument.arg for argument in (*taken.posonlyargs, *taken.args)]
        others = [taken.vararg.arg] * len(call.args) if taken.vararg else []
        if not any(isinstance(argument, ast.Starred) for argument in call.args):
            given = zip(call.args, [*positional, *others], strict=False)
            unread |= {argument for argument, name in given if name not in read}
        named = {argument.arg for argument in (*taken.args, *taken.kwonlyargs)} - read
        unread |= {keyword.value for keyword in call.keywords if keyword.arg in named}
        does_nothing = all(
            isinstance(one, ast.Pass)
            or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            for one in function.body
        )
        if isinstance(node, ast.Expr) and does_nothing:
            unread.add(node)
    return {part for node in unread for part in ast.walk(node)}


def _places(parent: ast.AST, *, inside: bool = False) -> Iterator[_Place]:
    """Yield the places of all statements and expressions inside functions, in reading order."""
    for field, value in ast.iter_fields(parent):
        if field in _NOT_MUTATED:
            continue
        nodes = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, node in nodes:
            if not isinstance(node, ast.stmt | ast.expr | ast.comprehension):
                if isinstance(node, ast.AST):
                    yield from _places(node, inside=inside)
                continue
            is_docstring = (
                field == "body"
                and index == 0
                and isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            )
            if inside and not is_docstring:
                yield _Place(parent, field, index)
            if not is_docstring:
                within = inside or isinstance(node, FunctionNode)
                yield from _places(node, inside=within)


def _shown(node: ast.AST) -> str:
    if isinstance(node, ast.comprehension):
        return ast.unparse(node).strip()  # no statement, so it has no line of its own
    line = ast.unparse(ast.fix_missing_locations(node)).split("\n", 1)[0]
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}…"


def _instructions(source: str) -> object | None:
    """Return the compiled source in comparable form, None when it does not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _comparable(compile(source, "target.py", "exec", dont_inherit=True))
        except UNREADABLE:
            return None


def _comparable(code: CodeType) -> object:
    constants = tuple(
        _comparable(value) if isinstance(value, CodeType) else (type(value), repr(value))
        for value in code.co_consts
    )
    return code.co_code, constants, code.co_names, code.co_varnames
