"""Texts that code says beside what it does: in the exceptions that it raises, and in its log."""

import ast

from infra.languages.python.syntax import UNREADABLE, parse
from infra.syntax.telling import is_telling

_LOGS = {"logging", "logger", "log", "LOG", "LOGGER", "_logger", "_log", "warnings"}


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
        if _root(node.func) in _LOGS:
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


def _root(node: ast.expr) -> str:
    """Return the object of the last attribute: ``log`` of ``self.log.info``."""
    if not isinstance(node, ast.Attribute):
        return ""
    holder = node.value
    if isinstance(holder, ast.Attribute):
        return holder.attr
    return holder.id if isinstance(holder, ast.Name) else ""
