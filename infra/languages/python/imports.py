"""The dotted names of a program's expressions, resolved by its imports."""

import ast


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
