"""Imports: the dotted names of a program's expressions, and statements added to a piece of code."""

import ast

from infra.languages.python.syntax import parse


def with_imports(code: str, lines: str) -> str:
    """Return code with statements before it, or right behind those that must be first.

    Raises:
        SyntaxError: The code is no Python 3.
    """
    futures = [
        statement
        for statement in parse(code).body
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    ]
    if not futures:
        return f"{lines.strip()}\n{code}"
    rows = code.split("\n")
    place = (futures[-1].end_lineno or 0) - 1
    row, end = rows[place].encode(), futures[-1].end_col_offset
    added = "; ".join(("", *map(ast.unparse, parse(lines.strip()).body)))
    rows[place] = row[:end].decode() + added + row[end:].decode()
    return "\n".join(rows)


def import_statements(lines: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the statements of a text that holds imports and nothing else.

    Raises:
        ValueError: It holds something else, or nothing.
    """
    try:
        statements = parse(lines.strip()).body
    except SyntaxError:
        statements = []
    imports = [item for item in statements if isinstance(item, ast.Import | ast.ImportFrom)]
    if not imports or len(imports) < len(statements):
        raise ValueError("not import statements alone")
    return tuple(imports)


def names_bound_by(statement: ast.Import | ast.ImportFrom) -> tuple[str, ...]:
    """Return the names that an import binds; ``*`` for all of a module."""
    names = ((alias.asname, alias.name) for alias in statement.names)
    if isinstance(statement, ast.ImportFrom):
        return tuple(other or name for other, name in names)
    return tuple(other or name.partition(".")[0] for other, name in names)


class DottedNames(ast.NodeVisitor):
    """Resolves ``d.now`` after ``from datetime import datetime as d`` to ``datetime.datetime.now``.

    Args:
        tree: The program.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._origins: dict[str, str] = {}
        self.visit(tree)

    def visit_Import(self, node: ast.Import) -> None:
        """Note ``import a.b`` and ``import a.b as c``."""
        for alias in node.names:
            if alias.asname:
                self._origins[alias.asname] = alias.name
            else:
                root = alias.name.partition(".")[0]
                self._origins[root] = root

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Note ``from a import b as c``."""
        for alias in node.names:
            self._origins[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"

    def of(self, node: ast.AST) -> str:
        """Return the dotted name of an expression, "" for one that is no chain of names."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join((self._origins.get(node.id, node.id), *reversed(parts)))
