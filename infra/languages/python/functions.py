"""The functions of a Python file, read from its syntax tree."""

import ast
import io
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from infra.languages.python.layout import plain_layout
from infra.languages.python.syntax import FunctionNode, parse

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Function:
    """A function or method of a file.

    Attributes:
        node: Its definition.
        name: Its name, qualified by those of the classes around it.
        lines: The lines of the whole file, without their ends.
        in_class: It is a method.
    """

    node: FunctionNode
    name: str
    lines: Sequence[str] = field(repr=False)
    in_class: bool = False
    has_error: ClassVar[bool] = False  # what has one, Python does not parse

    @property
    def first_line(self) -> int:
        """Number of its first line, decorators included, counted from 1."""
        return min(node.lineno for node in (self.node, *self.node.decorator_list))

    @property
    def last_line(self) -> int:
        """Number of its last line."""
        return _end(self.node)

    @cached_property
    def documentation(self) -> str:
        """The docstring as Python cleans it, "" where there is none."""
        text = (ast.get_docstring(self.node) or "").strip()
        return text.encode(errors="replace").decode()  # escapes can make what no file can hold

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, without the object or class that a method is bound to."""
        arguments = self.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        if self.in_class and not self._is_static():
            positional = positional[1:]
        parameters = [*positional, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        return tuple(parameter.arg for parameter in parameters if parameter is not None)

    @property
    def returns_value(self) -> bool:
        """Whether a ``return`` of its own, not of a function inside it, has a value but None."""
        return any(map(_returns_value, _own_statements(self.node.body)))

    @cached_property
    def text(self) -> str:
        """The source, moved to the left margin."""
        return "\n".join(self._moved_lines)

    @cached_property
    def text_without_documentation(self) -> str:
        """The source without its docstring; ``pass`` takes its place where nothing else is left."""
        docstring = self._docstring
        if docstring is None:
            return self.text
        first, last = docstring.lineno - 1, _end(docstring) - 1
        before = self.lines[first].encode()[: docstring.col_offset].decode()
        after = self.lines[last].encode()[docstring.end_col_offset :].decode()
        alone = len(self.node.body) == 1 or after.lstrip().startswith(";")
        rest = self._moved(before + (f"pass{after}" if alone else after.lstrip()))
        lines, offset = self._moved_lines, self.first_line - 1
        left = [rest] if rest.strip() else []
        return "\n".join([*lines[: first - offset], *left, *lines[last - offset + 1 :]])

    @property
    def _docstring(self) -> ast.stmt | None:
        documented = ast.get_docstring(self.node, clean=False) is not None
        return self.node.body[0] if documented else None

    @cached_property
    def _moved_lines(self) -> list[str]:
        first = self.first_line
        lines = self.lines[first - 1 : self.last_line]
        if not self.node.col_offset:
            return list(lines)
        fixed = self._lines_inside_strings(lines)
        return [
            line if number in fixed else self._moved(line)
            for number, line in enumerate(lines, first)
        ]

    def _moved(self, line: str) -> str:
        margin = self.node.col_offset
        return line if line[:margin].strip() else line[margin:]

    def _lines_inside_strings(self, lines: Sequence[str]) -> set[int]:
        """Return the numbers of the lines whose indentation is part of a string's value.

        That of a docstring is not: Python cleans it away.
        """
        if not any(line.endswith("\\") or '"""' in line or "'''" in line for line in lines):
            return set()
        docstring = self._docstring.lineno if self._docstring else 0
        inside: set[int] = set()
        offset = self.first_line - 1
        reader = io.StringIO("\n".join(lines) + "\n").readline
        for token in _tokens(reader):
            first, last = token.start[0] + offset, token.end[0] + offset
            if token.type == tokenize.STRING and first != docstring:
                inside.update(range(first + 1, last + 1))
        return inside

    def _is_static(self) -> bool:
        decorators = self.node.decorator_list
        return any(isinstance(node, ast.Name) and node.id == "staticmethod" for node in decorators)


def _tokens(reader: Callable[[], str]) -> Iterator[tokenize.TokenInfo]:
    """Yield tokens.

    Raises:
        SyntaxError: The tokens do not end.
    """
    try:
        yield from tokenize.generate_tokens(reader)
    except tokenize.TokenError as error:
        raise SyntaxError(str(error)) from None


def _returns_value(statement: ast.AST) -> bool:
    if not isinstance(statement, ast.Return) or statement.value is None:
        return False
    return not (isinstance(statement.value, ast.Constant) and statement.value.value is None)


def _own_statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the statements of a function, without those of functions and classes inside it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(
                child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)
            )


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


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
            yield Function(statement, f"{prefix}{statement.name}", lines, in_class)
        elif isinstance(statement, ast.ClassDef):
            inner = f"{prefix}{statement.name}."
            yield from _functions(statement.body, lines, inner, in_class=True)
        else:
            for block in _blocks(statement):
                yield from _functions(block, lines, prefix, in_class=in_class)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body
