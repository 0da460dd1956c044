"""Failures of programs: the assertions that find them, the texts that say them, and tracebacks."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import NamedTuple

from infra.languages.python.syntax import UNREADABLE, parse
from infra.syntax import is_telling

_WEAK_TESTS = {"isinstance", "issubclass", "callable", "hasattr"}
_WEAK_METHODS = {"assertIsNotNone", "assertIsInstance", "assert_type"}
_COMPARING_METHODS = {
    "assertEqual", "assertEquals", "assertIs", "assertAlmostEqual", "assert_equal",
    "assert_array_equal", "assert_almost_equal", "assert_allclose",
}  # fmt: skip
_TRUTH_METHODS = {"assertTrue", "assertFalse", "assert_"}
_RAISES, _RAISING = "raises", ("assertRaises", "assert_raises")  # what demands an exception
_ANY_LENGTH = re.compile(r"len\(.*>= 0", re.DOTALL)
_LOGS = {"logging", "logger", "log", "LOG", "LOGGER", "_logger", "_log", "warnings"}
_HEADER = re.compile(r"^Traceback \(most recent call last\):\n", re.MULTILINE)
_LINKS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_FRAME = re.compile(r'^  File "([^"\n]*)", line \d+, in (.+)$', re.MULTILINE)
_ERROR = re.compile(r"^([A-Za-z_][\w.]*)(?:: ?(.*))?$", re.MULTILINE)


def assertions_in(tree: ast.AST, imported: Collection[str] = ()) -> Iterator[ast.Assert | ast.Call]:
    """Yield assert statements, and calls of methods named ``assert…`` and ``raises``.

    Args:
        tree: A program, or a part of one.
        imported: The names of functions whose calls are assertions too, see
            `sandbox.inside.instrumentation`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node
        elif isinstance(node, ast.Call):
            is_method = isinstance(node.func, ast.Attribute) and _is_asserting(node.func.attr)
            if is_method or (isinstance(node.func, ast.Name) and node.func.id in imported):
                yield node


def assertions_of(program: str) -> Counter[str]:
    """Return a program's assertions as text, with their counts.

    That is all that may be an assertion by its name, and also what is to happen inside a ``with``
    that such a call opens.

    Raises:
        SyntaxError: The program is no Python, nested too deeply or has a number of thousands of
            digits.
    """
    found: list[ast.AST] = []
    for node in ast.walk(parse(program)):
        if isinstance(node, ast.Assert):
            found.append(node.test)
        elif isinstance(node, ast.Call):
            if _is_asserting(name := _called_name(node)) or name == "fail":
                found.append(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            opened = (_called_name(item.context_expr) for item in node.items)
            if any(name == _RAISES or name.startswith(_RAISING) for name in opened):
                found.append(node)
    try:
        return Counter(map(ast.unparse, found))
    except UNREADABLE as error:
        raise SyntaxError(str(error)) from None


def _is_asserting(name: str) -> bool:
    return name.startswith("assert") or name == _RAISES


def is_weak(assertion: ast.Assert | ast.Call) -> bool:
    """Return True if hardly any wrong result would fail the assertion.

    Weak are tautologies, and assertions of a type or of anything but None.
    """
    if isinstance(assertion, ast.Assert):
        return _is_weak_test(assertion.test)
    method, arguments = _called_name(assertion), assertion.args
    if method in _COMPARING_METHODS and len(arguments) >= 2:
        return _is_tautology(ast.Compare(arguments[0], [ast.Eq()], [arguments[1]]))
    if method in _TRUTH_METHODS and arguments:
        return _is_weak_test(arguments[0])
    return method in _WEAK_METHODS


def _is_weak_test(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        enough = all if isinstance(test.op, ast.And) else any
        return enough(_is_weak_test(value) for value in test.values)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return test.func.id in _WEAK_TESTS
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        call = test.left
        is_of_type = (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "type"
        )
        is_sure = _is_tautology(test) or is_of_type
        return is_sure or _ANY_LENGTH.fullmatch(ast.unparse(test)) is not None
    return _is_constant(test)


def _is_tautology(test: ast.Compare) -> bool:
    """Return True if it is like ``x == x``, ``1 == 1`` or ``x is not None``."""
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    is_none = isinstance(right, ast.Constant) and right.value is None
    if isinstance(operator, ast.IsNot | ast.NotEq) and is_none:
        return True
    alike = isinstance(left, ast.Name | ast.Attribute) and ast.dump(left) == ast.dump(right)
    return alike or _is_constant(test)


def _is_constant(node: ast.expr) -> bool:
    """Return True if an expression has no name: its value does not depend on the code."""
    return not any(isinstance(part, ast.Name) for part in ast.walk(node))


def _called_name(node: ast.AST) -> str:
    """Return the last name of what a call calls, "" for no call."""
    called = node.func if isinstance(node, ast.Call) else None
    return getattr(called, "attr", getattr(called, "id", ""))


def without_messages(code: str) -> str:
    """Return code whose exceptions and log entries have no texts; as it is if it is no Python 3.

    Codes that are alike then differ in wording alone.
    """
    try:
        return ast.unparse(_Silencer().visit(parse(code)))
    except UNREADABLE:
        return code


class _Silencer(ast.NodeTransformer):
    """Empties the texts in ``raise`` statements, ``assert`` messages and calls of a log.

    Of calls that tell of errors and nothing else, all that they are given is left out.
    """

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            _silence(node.exc)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if node.msg is not None and _is_text(node.msg):
            node.msg = None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if isinstance(call, ast.Call) and is_telling(ast.unparse(call.func)):
            call.args, call.keywords = [], []
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        # The object of the last attribute: ``log`` of ``self.log.info``.
        holder = node.func.value if isinstance(node.func, ast.Attribute) else None
        if getattr(holder, "attr", getattr(holder, "id", "")) in _LOGS:
            _silence(node)
        return self.generic_visit(node)


def _silence(call: ast.Call) -> None:
    call.args = [argument for argument in call.args if not _is_text(argument)]


def _is_text(node: ast.expr) -> bool:
    """Return True if an expression is a text, or puts one together."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return _is_text(left) or _is_text(right)
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return _is_text(value)
    return False


class Frame(NamedTuple):
    """A call in a traceback: the file of the function and its name, ``<module>`` outside one."""

    file: str
    function: str


class Raised(NamedTuple):
    """An exception in a traceback.

    Attributes:
        error_type: The name of its type, without the module's.
        message: The first line of its message.
        frames: The calls that it went through, the innermost last.
    """

    error_type: str
    message: str
    frames: tuple[Frame, ...]


def exceptions_in(traceback: str) -> tuple[Raised, ...]:
    """Return the exceptions of the last traceback of a text, in the order in which they occurred.

    Each was raised while the one before it was handled.
    """
    *earlier, last = _HEADER.split(traceback)
    linked = takewhile(lambda part: part.rstrip().endswith(_LINKS), reversed(earlier))
    return (*map(_raised, reversed(tuple(linked))), _raised(last))


def _raised(part: str) -> Raised:
    found = list(_FRAME.finditer(part))
    error = _ERROR.search(part, found[-1].end() if found else 0)
    name, message = (error[1], error[2] or "") if error else ("", "")
    frames = tuple(Frame(match[1], match[2]) for match in found)
    return Raised(name.rpartition(".")[2], message, frames)
