"""Mutation operators: functions from a syntax node to the nodes that a mistake would make of it.

To add an operator, add a function from a node to its replacements to ``OPERATORS``, or to
``STRONG_OPERATORS`` if nearly any test would notice it.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

Kind = Literal[
    "operator", "constant", "boundary", "condition", "return", "call", "removed", "argument",
    "element", "loop", "answer", "value", "access",
]  # fmt: skip
Replacements = Iterator[ast.AST]

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


Operators = Mapping[Kind, Callable[[ast.AST], Replacements]]

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
