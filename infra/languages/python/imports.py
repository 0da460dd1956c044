"""Imports: the dotted names of a program's expressions, and statements added to a piece of code."""

import ast

from infra.languages.python.syntax import parse, parse_or_none


def with_imports(code: str, lines: str) -> str:
    """Return code with statements before it, or right behind those that must be first.

    No line of the code gets another number but by the lines that come before all of it.

    Raises:
        SyntaxError: The code is no Python 3.
    """
    first, rest = _parts(code)
    if not first:
        return f"{lines.strip()}\n{code}"
    return first + "; ".join(("", *map(ast.unparse, parse(lines.strip()).body))) + rest


def with_definitions(code: str, lines: str) -> str:
    """Return code with lines of any statements before it, or behind those that must be first.

    Raises:
        SyntaxError: The code is no Python 3.
    """
    first, rest = _parts(code)
    return "\n".join((*filter(None, (first, lines.strip())), rest.lstrip(" \t;")))


def _parts(code: str) -> tuple[str, str]:
    """Return code up to its last import from the future, "" without one, and the rest."""
    futures = [
        statement
        for statement in parse(code).body
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    ]
    if not futures:
        return "", code
    rows = code.split("\n")
    place, end = futures[-1].end_lineno or 0, futures[-1].end_col_offset
    row = rows[place - 1].encode()
    first = [*rows[: place - 1], row[:end].decode()]
    return "\n".join(first), "\n".join([row[end:].decode(), *rows[place:]])


def joined(first: str, more: str) -> str:
    """Return two texts of statements as one, in which the second binds what both would bind.

    Those of another language stand one behind the other.
    """
    if not first.strip() or not more.strip():
        return first.strip() or more.strip()
    nodes, others = map(parse_or_none, (first, more))
    if nodes is None or others is None:
        return f"{first.strip()}\n{more.strip()}"
    again = {name for statement in others.body for name in names_bound_by(statement)}
    kept = (node for node in nodes.body if not again.issuperset(names_bound_by(node)))
    return "\n".join((*map(ast.unparse, kept), more.strip()))


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


def names_bound_by(statement: ast.stmt) -> tuple[str, ...]:
    """Return the names that an import, a definition or an assignment binds; ``*`` for a module's.

    Other statements bind none, nor do parts of an assignment that are no names.
    """
    match statement:
        case ast.ImportFrom(names=aliases):
            return tuple(alias.asname or alias.name for alias in aliases)
        case ast.Import(names=aliases):
            return tuple(alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (statement.name,)
        case ast.Assign(targets=targets):
            several = (getattr(target, "elts", [target]) for target in targets)
            return tuple(name.id for part in several for name in part if isinstance(name, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return (name,)
    return ()


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
