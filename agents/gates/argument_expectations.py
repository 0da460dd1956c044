"""Expected values that a program works out from arguments, which the code may have changed.

The rule is one for all languages; each tells it what its syntax is (`ProgramTree`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from infra.languages.python import DottedNames, assertions_in, ast, parse_or_none
from sandbox.inside.instrumentation import imported_assertions

Names = set[str]
Node = TypeVar("Node")


class ProgramTree(ABC, Generic[Node]):
    """The facts about a test program that the rule asks for."""

    @abstractmethod
    def variable_of(self, node: Node) -> str:
        """Return the name of the variable that a node is, "" for none."""

    @abstractmethod
    def parts_of(self, node: Node) -> Iterable[Node]:
        """Return the parts of an expression, without the name of a function that it calls."""

    @abstractmethod
    def arguments_of(self, node: Node) -> Sequence[Node] | None:
        """Return the arguments of a call of the code, None for any other node."""

    @abstractmethod
    def nodes(self) -> Iterable[Node]:
        """Return all nodes of the program."""

    @abstractmethod
    def bindings(self) -> Iterator[tuple[Node, Node]]:
        """Yield bindings: target and value."""

    @abstractmethod
    def conditions(self) -> Iterator[tuple[Node, Node]]:
        """Yield bindings and their conditions."""

    def keeps_state(self) -> bool:
        """Return True if calls of the code build on what others made of their arguments."""
        return False

    @abstractmethod
    def comparisons(self) -> Iterator[tuple[Sequence[Node], bool]]:
        """Yield the parts of each assertion that can fail, and whether it asks for one object."""


def expects_by_arguments(program: str) -> bool:
    """Return True if a program in Python does as `expects` says."""
    tree = parse_or_none(program)
    return tree is not None and expects(_PythonTree(tree))


def expects(tree: ProgramTree[Node]) -> bool:
    """Return True if a program compares results with its arguments, and arguments with no else.

    A program that compares an argument by itself asks what the code has made of it.
    """
    uses, is_found = Uses(tree), False
    for parts, is_identity in tree.comparisons():
        found, calls = uses.scan(*parts)
        if found & uses.arguments:
            if is_identity or not (calls or found & uses.results):
                return False
            is_found = True
    return is_found and not tree.keeps_state()


class Uses(Generic[Node]):
    """The variables of a program that hold arguments and results of the code's calls."""

    def __init__(self, tree: ProgramTree[Node]) -> None:
        self._tree = tree
        self.results: Names = set()
        self.arguments: Names = set()
        given = (tree.arguments_of(node) for node in tree.nodes())
        self.arguments.update(*(self.scan(*parts)[0] for parts in given if parts is not None))
        made = [(self.scan(target)[0], *self.scan(value)) for target, value in tree.bindings()]
        under = [(self.scan(target)[0], self.scan(test)[0]) for target, test in tree.conditions()]
        known = -1
        while known < (known := len(self.results) + len(self.arguments)):
            for names, parts, calls in made:
                if calls or parts & self.results:
                    self.results |= names
                elif names & self.arguments:
                    self.arguments |= parts
            for names, parts in [*under, *((names, parts) for names, parts, _ in made)]:
                if parts & self.arguments:
                    self.arguments |= names

    def scan(self, *nodes: Node) -> tuple[Names, bool]:
        """Return the variables of expressions, and whether they call the code, arguments aside."""
        names, calls, left = Names(), False, [*nodes]
        while left:
            node = left.pop()
            if self._tree.arguments_of(node) is not None:
                calls = True
            elif name := self._tree.variable_of(node):
                names.add(name)
            else:
                left += self._tree.parts_of(node)
        return names, calls


class _PythonTree(ProgramTree[ast.AST]):
    """A test program in Python; its own functions are seen through, as by `program_trees`."""

    def __init__(self, tree: ast.AST) -> None:
        self._tree = tree
        self._names = DottedNames(tree)
        defined = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        self._own = {node.name: node for node in defined}

    def variable_of(self, node: ast.AST) -> str:
        if isinstance(node, ast.arg):
            return node.arg
        return node.id if isinstance(node, ast.Name) else ""

    def parts_of(self, node: ast.AST) -> Iterable[ast.AST]:
        called = node.func if isinstance(node, ast.Call) else None
        is_other = isinstance(called, ast.Name) and called.id not in self._own
        return (one for one in ast.iter_child_nodes(node) if not is_other or one is not called)

    def arguments_of(self, node: ast.AST) -> Sequence[ast.AST] | None:
        if isinstance(node, ast.Call) and self._names.of(node.func).startswith("target."):
            return [*node.args, *node.keywords]
        return None

    def nodes(self) -> Iterable[ast.AST]:
        return ast.walk(self._tree)

    def bindings(self) -> Iterator[tuple[ast.AST, ast.AST]]:
        for node in ast.walk(self._tree):
            match node:
                case ast.Call(func=ast.Name(id=name), args=given) if name in self._own:
                    yield from zip(self._own[name].args.args, given, strict=False)
                case ast.FunctionDef(name=name):
                    returned = (one for one in ast.walk(node) if isinstance(one, ast.Return))
                    yield from ((ast.Name(name), one.value) for one in returned if one.value)
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

    def conditions(self) -> Iterator[tuple[ast.AST, ast.AST]]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.If | ast.While | ast.For):
                test = node.iter if isinstance(node, ast.For) else node.test
                inner = _PythonTree(ast.Module([*node.body, *node.orelse], []))
                yield from ((target, test) for target, _ in inner.bindings())

    def comparisons(self) -> Iterator[tuple[Sequence[ast.AST], bool]]:
        for asserted in assertions_in(self._tree, imported_assertions([*ast.walk(self._tree)])):
            if isinstance(asserted, ast.Call):
                yield asserted.args, False
                continue
            for part in _atoms(asserted.test):
                operators = getattr(part, "ops", ())
                yield [part], any(isinstance(one, ast.Is | ast.IsNot) for one in operators)


def _atoms(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of a condition that are true or false by themselves."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _atoms(part)
    else:
        yield test
