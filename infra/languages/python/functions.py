"""The functions of a Python file, read from its syntax tree, and their headers alone."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

from infra.languages import Function
from infra.languages.python.syntax import UNREADABLE, FunctionNode, parse, plain_layout
from infra.syntax.comments import directives, strip_directives

_DIRECTIVES = directives("python")
_SHOWN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (*_SHOWN, ast.Lambda)
# Of bounded length: else text with many headers that never end is read again from each of them.
_HEADER = re.compile(r"(?ms)^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(.{0,4000}?\)[^:\n]{0,200}:")


def functions_of(text: str) -> list[Function]:
    """Return a file's top-level functions and the methods of its classes, in their order.

    Functions within functions are part of them and not listed. Those under ``if``, ``try``,
    ``with`` or ``match`` at module or class level are.

    Raises:
        SyntaxError: The text is not Python.
    """
    text = plain_layout(text)
    return list(_functions(parse(text).body, text.split("\n"), "", in_class=False))


def _functions(
    body: list[ast.stmt], lines: Sequence[str], prefix: str, *, in_class: bool
) -> Iterator[Function]:
    for statement in body:
        if isinstance(statement, FunctionNode):
            yield _function(statement, prefix, lines, in_class=in_class)
        elif isinstance(statement, ast.ClassDef):
            inner = f"{prefix}{statement.name}."
            yield from _functions(statement.body, lines, inner, in_class=True)
        else:
            parts = (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            for block in (*blocks, *(part.body for part in parts)):
                yield from _functions(block, lines, prefix, in_class=in_class)


def _function(node: FunctionNode, prefix: str, lines: Sequence[str], *, in_class: bool) -> Function:
    first = min(part.lineno for part in (node, *node.decorator_list))
    documentation = strip_directives(ast.get_docstring(node) or "", _DIRECTIVES).strip()
    moved = _moved_lines(node, first, lines)
    taken = node.args
    positional = [*taken.posonlyargs, *taken.args]
    is_static = any(
        isinstance(part, ast.Name) and part.id == "staticmethod" for part in node.decorator_list
    )
    if in_class and not is_static:
        positional = positional[1:]
    parameters = [*positional, taken.vararg, *taken.kwonlyargs, taken.kwarg]
    return Function(
        name=f"{prefix}{node.name}",
        first_line=first,
        last_line=_end(node),
        in_class=in_class,
        parameters=tuple(parameter.arg for parameter in parameters if parameter is not None),
        returns_value=_returns_value(node.body),
        # Escapes can make what no file can hold.
        documentation=documentation.encode(errors="replace").decode(),
        text="\n".join(moved),
        text_without_documentation="\n".join(_undocumented(node, first, lines, moved)),
    )


def _undocumented(
    node: FunctionNode, first: int, lines: Sequence[str], moved: Sequence[str]
) -> Sequence[str]:
    """Return the lines without the docstring; ``pass`` takes its place if nothing else is left."""
    docstring = _docstring(node)
    if docstring is None:
        return moved
    begin, end = docstring.lineno - 1, _end(docstring) - 1
    before = lines[begin].encode()[: docstring.col_offset].decode()
    after = lines[end].encode()[docstring.end_col_offset :].decode()
    alone = len(node.body) == 1 or after.lstrip().startswith(";")
    rest = _moved(before + (f"pass{after}" if alone else after.lstrip()), node.col_offset)
    left = [rest] if rest.strip() else []
    return [*moved[: begin - first + 1], *left, *moved[end - first + 2 :]]


def _docstring(node: FunctionNode) -> ast.stmt | None:
    return node.body[0] if ast.get_docstring(node, clean=False) is not None else None


def _moved_lines(node: FunctionNode, first: int, lines: Sequence[str]) -> list[str]:
    """Return a function's lines at the left margin, but for those that begin inside a string.

    Those of its docstring are moved: Python cleans its indentation away.
    """
    own = list(lines[first - 1 : _end(node)])
    if not node.col_offset:
        return own
    docstring = _docstring(node)
    inside: set[int] = set()
    if any(line.endswith("\\") or '"""' in line or "'''" in line for line in own):
        try:
            tokens = [*tokenize.generate_tokens(io.StringIO("\n".join(own) + "\n").readline)]
        except tokenize.TokenError as error:  # they do not end
            raise SyntaxError(str(error)) from None
        for token in tokens:
            begin, end = token.start[0] + first - 1, token.end[0] + first - 1
            if token.type == tokenize.STRING and not (docstring and begin == docstring.lineno):
                inside.update(range(begin + 1, end + 1))
    return [
        line if number in inside else _moved(line, node.col_offset)
        for number, line in enumerate(own, first)
    ]


def _moved(line: str, margin: int) -> str:
    return line if line[:margin].strip() else line[margin:]


def _returns_value(body: list[ast.stmt]) -> bool:
    """Return True if a function does so itself, and not only functions and classes inside it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            is_none = isinstance(node.value, ast.Constant) and node.value.value is None
            if not is_none:
                return True
        if not isinstance(node, _SCOPES):
            waiting.extend(
                child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)
            )
    return False


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def signature_of(code: str) -> str:
    """Return the headers of a piece of code's functions and classes, bodies and docstrings gone.

    Of code that is no Python 3 the first header's own text is returned.
    """
    try:
        return ast.unparse(_BodyRemover().visit(parse(code)))
    except UNREADABLE:  # of defaults, too, that are nested deeply or have thousands of digits
        header = _HEADER.search(code)
        return header[0] if header else ""


class _BodyRemover(ast.NodeTransformer):
    """Removes the bodies of functions, and what is neither a function nor a class."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        node.body = [self.visit(item) for item in node.body if isinstance(item, _SHOWN)]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        kept = [self.visit(item) for item in node.body if isinstance(item, _SHOWN)]
        node.body = kept or [ast.Expr(ast.Constant(...))]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - a name of `ast`
