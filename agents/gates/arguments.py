"""Whether a program works out expected values from arguments, which the code may have changed."""

from collections.abc import Iterator

from infra.languages._programs import DottedNames, assertions_in, ast, parse_or_none
from sandbox.inside.instrumentation import imported_assertions

Names = set[str]


def expects_by_arguments(program: str) -> bool:
    """Return whether a program compares results with its arguments, and arguments with no else.

    A program that compares an argument by itself asks what the code has made of it.
    """
    tree = parse_or_none(program)
    if tree is None:
        return False
    uses = _Uses(tree)
    expects = False
    for asserted in assertions_in(tree, imported_assertions(tree)):
        parts = [asserted.test] if isinstance(asserted, ast.Assert) else [ast.Tuple(asserted.args)]
        for part in (atom for one in parts for atom in _atoms(one)):
            found, calls = uses.of(part)
            if found & uses.arguments:
                operators = getattr(part, "ops", ())
                if any(isinstance(one, ast.Is | ast.IsNot) for one in operators):
                    return False
                if not calls and not found & uses.results:
                    return False
                expects = True
    return expects


class _Uses:
    """Which variables of a program hold arguments of the code's calls, and which hold results."""

    def __init__(self, tree: ast.AST) -> None:
        self._names = DottedNames(tree)
        self.results: Names = set()
        self.arguments: Names = set()
        for node in filter(self._is_call, ast.walk(tree)):
            self.arguments.update(*(self.of(part)[0] for part in ast.iter_child_nodes(node)))
        made = [(self.of(target)[0], *self.of(value)) for target, value in _bindings(tree)]
        known = -1
        while known < (known := len(self.results) + len(self.arguments)):
            for names, parts, calls in made:
                if calls or parts & self.results:
                    self.results |= names
                elif (names | parts) & self.arguments:
                    self.arguments |= names | parts
        self.arguments -= self.results

    def of(self, node: ast.AST) -> tuple[Names, bool]:
        """Return the variables of an expression, and whether it calls the code, arguments aside."""
        if self._is_call(node):
            return set(), True
        if isinstance(node, ast.Name):
            return {node.id}, False
        is_plain = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        parts = [part for part in ast.iter_child_nodes(node) if not is_plain or part != node.func]  # type: ignore[attr-defined]
        found = [self.of(part) for part in parts]
        return {name for names, _ in found for name in names}, any(calls for _, calls in found)

    def _is_call(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and self._names.of(node.func).startswith("target.")


def _atoms(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of a condition that are true or false by themselves."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _atoms(part)
    else:
        yield test


def _bindings(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what is bound to what."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
            ):
                yield target, value
