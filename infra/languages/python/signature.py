"""Signatures of the functions and classes in a piece of code, without their bodies."""

import ast
import re

from infra.languages.python.syntax import UNREADABLE, parse

# Of bounded length: else text with many headers that never end is read again from each of them.
_HEADER = re.compile(r"(?ms)^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(.{0,4000}?\)[^:\n]{0,200}:")


class _BodyRemover(ast.NodeTransformer):
    """Removes the bodies of functions, and what is neither a function nor a class."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        node.body = [self.visit(item) for item in node.body if isinstance(item, _SHOWN)]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        kept = [self.visit(item) for item in node.body if isinstance(item, _SHOWN)]
        node.body = kept or [ast.Expr(ast.Constant(...))]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node


_SHOWN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def signature_of(code: str) -> str:
    """Return the headers of a piece of code's functions and classes, bodies and docstrings gone.

    Of code that is no Python 3 the first header's own text is returned.
    """
    try:
        return ast.unparse(_BodyRemover().visit(parse(code)))
    except UNREADABLE:  # of defaults, too, that are nested deeply or have thousands of digits
        header = _HEADER.search(code)
        return header[0] if header else ""
