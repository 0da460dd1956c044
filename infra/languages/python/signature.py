"""What can be called in a piece of code, without how it is done."""

import ast
import re
import warnings

_HEADER = re.compile(r"(?ms)^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(.*?\)[^:\n]*:")


class _Hollow(ast.NodeTransformer):
    """Empties functions; what stands beside them in modules goes, imports stay."""

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.unparse(_Hollow().visit(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        header = _HEADER.search(code)
        return header[0] if header else ""
