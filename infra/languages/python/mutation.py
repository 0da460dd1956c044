"""Mutants of a piece of code: the code with one mistake each, made from its syntax tree.

A test program that passes on the mutants as well as on the code tests little. Mutants are made
without running anything, in an order that follows from the code alone (DeMillo, Lipton and Sayward,
"Hints on test data selection", 1978).

An operator is a function from a syntax node to the nodes that a mistake would make of it. To add
one, add such a function to ``OPERATORS``, or to ``STRONG_OPERATORS`` if nearly any test would
notice it.
"""

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import dropwhile, islice, takewhile, zip_longest
from types import CodeType
from typing import Literal

from infra.languages import Mutant
from infra.languages.python.syntax import UNREADABLE, FunctionNode, parse, parse_or_none

Kind = Literal[
    "operator", "constant", "boundary", "condition", "return", "call", "removed", "argument",
    "element", "loop", "answer", "value", "access",
]  # fmt: skip
Replacements = Iterator[ast.AST]
Operators = Mapping[Kind, Callable[[ast.AST], Replacements]]

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_BOUNDARIES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_CONDITIONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPPOSITE_NAMES = (
    ("min", "max"), ("any", "all"), ("lower", "upper"), ("startswith", "endswith"),
    ("lstrip", "rstrip"), ("find", "rfind"), ("floor", "ceil"),
    ("union", "intersection"), ("keys", "values"), ("append", "extend"), ("search", "match"),
)  # fmt: skip
# Calls that give the same with their first two arguments swapped.
_COMMUTATIVE = {
    "max", "min", "gcd", "lcm", "hypot", "isclose", "allclose", "array_equal", "maximum", "minimum",
    "add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "union1d", "intersect1d",
    "union", "intersection",
}  # fmt: skip
_TYPED = {"isinstance", "issubclass", "hasattr", "getattr", "setattr", "map", "filter"}
_OPPOSITES = {**dict(_OPPOSITE_NAMES), **{second: first for first, second in _OPPOSITE_NAMES}}
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


def _operator(node: ast.AST) -> Replacements:
    if isinstance(node, ast.BinOp) and (other := _ARITHMETIC.get(type(node.op))):
        yield ast.BinOp(node.left, other(), node.right)
    elif isinstance(node, ast.AugAssign) and (other := _ARITHMETIC.get(type(node.op))):
        yield ast.AugAssign(node.target, other(), node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand


def _constant(node: ast.AST) -> Replacements:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, str):
        yield ast.Constant(f"{node.value}X" if node.value else "X")


def _compared(node: ast.AST, swaps: Mapping[type[ast.cmpop], type[ast.cmpop]]) -> Replacements:
    if isinstance(node, ast.Compare):
        for index, comparison in enumerate(node.ops):
            if other := swaps.get(type(comparison)):
                operators = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                yield ast.Compare(node.left, operators, node.comparators)


def _condition(node: ast.AST) -> Replacements:
    yield from _compared(node, _CONDITIONS)
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
    elif isinstance(node, ast.If):
        yield ast.If(_negated(node.test), node.body, node.orelse)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(_negated(node.test), node.body, node.orelse)
    elif isinstance(node, ast.comprehension) and node.ifs:
        kept = [_negated(node.ifs[0]), *node.ifs[1:]]
        yield ast.comprehension(node.target, node.iter, kept, node.is_async)


def _return(node: ast.AST) -> Replacements:
    if not isinstance(node, ast.Return) or (value := node.value) is None:
        return
    if isinstance(value, ast.Compare) and all(type(op) in _CONDITIONS for op in value.ops):
        return  # the operator of conditions negates an equation already
    is_truth = isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp)
    yield ast.Return(_negated(value) if is_truth else ast.Constant(None))


def _call(node: ast.AST) -> Replacements:
    """Swap a call with its opposite, leave the call out, or leave its last keyword out."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield node.value
    if not isinstance(node, ast.Call):
        return
    called = node.func
    if isinstance(called, ast.Name) and called.id in _OPPOSITES:
        opposite = ast.Name(_OPPOSITES[called.id], ast.Load())
        yield ast.Call(opposite, node.args, node.keywords)
    elif isinstance(called, ast.Attribute) and called.attr in _OPPOSITES:
        method = ast.Attribute(called.value, _OPPOSITES[called.attr], ast.Load())
        yield ast.Call(method, node.args, node.keywords)
    if isinstance(called, ast.Attribute):
        yield called.value
    elif len(node.args) == 1:
        yield node.args[0]
    if node.keywords:
        yield ast.Call(called, node.args, node.keywords[:-1])


def _removed(node: ast.AST) -> Replacements:
    """Remove a statement that binds no plain name: others would only leave a NameError behind."""
    changes_something = isinstance(
        node, ast.AugAssign | ast.Expr | ast.Delete | ast.Break | ast.Raise
    )
    stores = isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name)
    if changes_something or stores:
        yield ast.Pass()


def _argument(node: ast.AST) -> Replacements:
    """Swap the first two arguments, unless that could only raise or changes nothing."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return
    called = node.func
    keeps_order = (isinstance(called, ast.Attribute) and called.attr in _COMMUTATIVE) or (
        isinstance(called, ast.Name) and called.id in _TYPED | _COMMUTATIVE
    )
    first, second, *others = node.args
    if not (keeps_order or isinstance(first, ast.Starred) or isinstance(second, ast.Starred)):
        yield ast.Call(called, [second, first, *others], node.keywords)


def _element(node: ast.AST) -> Replacements:
    """Leave the last element of a display out."""
    if isinstance(node, ast.Dict) and node.keys:
        yield ast.Dict(node.keys[:-1], node.values[:-1])
    elif isinstance(node, ast.Set) and len(node.elts) > 1:
        yield ast.Set(node.elts[:-1])
    elif isinstance(node, ast.List | ast.Tuple) and node.elts and isinstance(node.ctx, ast.Load):
        yield type(node)(node.elts[:-1], node.ctx)


def _loop(node: ast.AST) -> Replacements:
    """Run a loop once only."""
    if isinstance(node, ast.While):
        yield ast.If(node.test, node.body, node.orelse)
    elif isinstance(node, ast.For):
        yield ast.For(node.target, _first_of(node.iter), node.body, node.orelse, node.type_comment)
    elif isinstance(node, ast.comprehension) and not node.is_async:
        yield ast.comprehension(node.target, _first_of(node.iter), node.ifs, node.is_async)


def _first_of(items: ast.expr) -> ast.expr:
    everything = ast.List([ast.Starred(items, ast.Load())], ast.Load())
    return ast.Subscript(everything, ast.Slice(None, ast.Constant(1)), ast.Load())


def _answer(node: ast.AST) -> Replacements:
    """Return a plain value, one that is true: that there is a result must not be enough."""
    if isinstance(node, ast.Pass) or (isinstance(node, ast.Return) and node.value is not None):
        yield ast.Return(ast.Constant("X"))
        yield ast.Return(ast.Constant(2))  # 1 would be equal to True
    elif isinstance(node, ast.Yield) and node.value is not None:
        yield ast.Yield(ast.Constant("X"))
        yield ast.Yield(ast.Constant(2))


def _value(node: ast.AST) -> Replacements:
    """Assign or pass None in place of a computed value."""
    nothing = ast.Constant(None)
    if isinstance(node, ast.Assign):
        yield ast.Assign(node.targets, nothing, node.type_comment)
    elif isinstance(node, ast.Call) and node.args:
        yield ast.Call(node.func, [*node.args[:-1], nothing], node.keywords)


def _access(node: ast.AST) -> Replacements:
    """Take the whole in place of an attribute or item of it."""
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield node.value


OPERATORS: Operators = {
    "operator": _operator,
    "boundary": lambda node: _compared(node, _BOUNDARIES),
    "condition": _condition,
    "constant": _constant,
    "call": _call,
    "return": _return,
    "removed": _removed,
    "loop": _loop,
    "element": _element,
    "argument": _argument,
}
STRONG_OPERATORS: Operators = {"answer": _answer, "value": _value, "access": _access}


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)
