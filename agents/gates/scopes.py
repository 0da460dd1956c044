"""The scopes of a test program: which names they bind, to what, and which they call."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from infra.languages.python.imports import DottedNames, names_bound_by
from infra.languages.python.syntax import FunctionNode

_TARGET = "target"
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
# What calls a function that it is given, and at which place.
_CALLERS = {
    "map": 0, "filter": 0, "reduce": 0, "starmap": 0, "partial": 0, "accumulate": 1, "raises": 1,
    "assertRaises": 1, "assertRaisesRegex": 2,
}  # fmt: skip


class Binding(NamedTuple):
    """A place where a scope binds a name.

    Attributes:
        line: The line.
        is_variable: Whether it may be bound to any value, and not to a function, class or module.
        is_target: Whether it is bound to the code under test.
    """

    line: int
    is_variable: bool = True
    is_target: bool = False


class Scope:
    """The names that a module, a class, a function or a comprehension binds and calls.

    Attributes:
        parent: The scope around; None for the module.
        bound: Name → where it is bound.
        called: Names that are called or handed to what calls them.
        called_by_dot: The same for what is taken from a name by one dot: both names.
    """

    def __init__(self, node: ast.AST, parent: "Scope | None" = None) -> None:
        self.parent = parent
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_comprehension = isinstance(node, _Comprehension)
        self.bound: dict[str, list[Binding]] = {}
        self.nonlocal_bound: list[tuple[str, Binding]] = []
        self.called: set[str] = set()
        self.called_by_dot: set[tuple[str, str]] = set()
        self.of_module: set[str] = set()
        self.of_others: set[str] = set()

    @property
    def module(self) -> "Scope":
        """The outermost scope."""
        return self.parent.module if self.parent else self

    def owner_of(self, name: str) -> "Scope":
        """Return the scope in which a name is looked up; the module where no other one binds it."""
        scope: Scope | None = self
        while scope and scope.parent:
            if scope is self or not scope.is_class:
                if name in scope.of_module:
                    break
                if name in scope.bound:
                    return scope
            scope = scope.parent
        return self.module


def scopes_of(tree: ast.Module, names: DottedNames) -> tuple[Scope, ...]:
    """Return the scopes of a program, the module's first.

    Args:
        tree: The program.
        names: Its dotted names.
    """
    return tuple(_Reader(tree, names).scopes)


class _Reader(ast.NodeVisitor):
    """Reads the scopes of a program; arguments as of `scopes_of`."""

    def __init__(self, tree: ast.Module, names: DottedNames) -> None:
        self._names = names
        self._scope = Scope(tree)
        self.scopes = [self._scope]
        self.generic_visit(tree)
        for scope in self.scopes:
            for name, binding in scope.nonlocal_bound:
                owner = scope.owner_of(name)
                owner.bound.setdefault(name, []).append(binding)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Read a function; its decorators and defaults belong around it."""
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Read a coroutine function."""
        self._visit_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Read a class, whose names its methods do not see."""
        self._bind(node.name, Binding(node.lineno, is_variable=False))
        self._decorate(node)
        self._visit_all(*node.bases, *node.keywords)
        self._visit_inside(node, *node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Read a lambda."""
        self._visit_defaults(node.args)
        self._visit_inside(node, *_parameters(node.args), node.body)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        """Read a comprehension, a scope of its own but for what it first goes through."""
        self._visit_comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        """Read a comprehension."""
        self._visit_comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        """Read a comprehension."""
        self._visit_comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        """Read a generator expression."""
        self._visit_comprehension(node)

    def visit_Global(self, node: ast.Global) -> None:
        """Note names of the module."""
        self._scope.of_module.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        """Note names of a function around."""
        self._scope.of_others.update(node.names)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Bind to what is known of the value."""
        self.visit(node.value)
        for target in node.targets:
            self._assign(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Bind to what is known of the value."""
        self._visit_all(node.annotation, *([node.value] if node.value else []))
        self._assign(node.target, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Bind in the function around, where comprehensions bind too."""
        self.visit(node.value)
        inner = self._scope
        while self._scope.is_comprehension and self._scope.parent:
            self._scope = self._scope.parent
        self._assign(node.target, node.value)
        self._scope = inner

    def visit_Import(self, node: ast.Import) -> None:
        """Bind to a module."""
        is_target = [alias.name for alias in node.names] == [_TARGET]
        for name in names_bound_by(node):
            self._bind(name, Binding(node.lineno, is_variable=False, is_target=is_target))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind to what a module has."""
        is_target = node.module == _TARGET
        for name in names_bound_by(node):
            self._bind(name, Binding(node.lineno, is_variable=False, is_target=is_target))

    def visit_Call(self, node: ast.Call) -> None:
        """Note a call, by name or of a function that is handed to another."""
        self._note_call(node.func)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        place = _CALLERS.get(name, len(node.args))
        for part in node.args[place : place + 1]:
            self._note_call(part)
        for keyword in node.keywords:
            if keyword.arg == "key":
                self._note_call(keyword.value)
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        """Bind the names that any other node binds."""
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                self._bind(node.id, Binding(node.lineno))
        elif isinstance(node, ast.arg):
            self._bind(node.arg, Binding(node.lineno))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self._bind(node.name, Binding(node.lineno))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._bind(node.rest, Binding(node.lineno))
        super().generic_visit(node)

    def _visit_function(self, node: FunctionNode) -> None:
        self._bind(node.name, Binding(node.lineno, is_variable=False))
        self._decorate(node)
        self._visit_defaults(node.args)
        self._visit_inside(node, *_parameters(node.args), *node.body)

    def _visit_comprehension(self, node: _Comprehension) -> None:
        self.visit(node.generators[0].iter)
        parts: list[ast.AST] = []
        for number, generator in enumerate(node.generators):
            parts += [generator.target, *generator.ifs, *([generator.iter] if number else [])]
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._visit_inside(node, *parts, *results)

    def _visit_inside(self, node: ast.AST, *parts: ast.AST) -> None:
        outer, self._scope = self._scope, Scope(node, self._scope)
        self.scopes.append(self._scope)
        self._visit_all(*parts)
        self._scope = outer

    def _visit_defaults(self, arguments: ast.arguments) -> None:
        self._visit_all(*arguments.defaults, *filter(None, arguments.kw_defaults))

    def _visit_all(self, *nodes: ast.AST) -> None:
        for node in nodes:
            self.visit(node)

    def _decorate(self, node: FunctionNode | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self._note_call(decorator)
            self.visit(decorator)

    def _note_call(self, function: ast.expr) -> None:
        """Note that something is called: a name, or what is taken from one by a dot."""
        match function:
            case ast.Name(id=name):
                self._scope.called.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                self._scope.called_by_dot.add((name, attribute))

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        """Bind a name; of several ones each to its value, where these are as many."""
        if isinstance(target, ast.Name):
            is_target = value is not None and self._names.of(value).startswith(f"{_TARGET}.")
            if is_target and value:
                self._note_call(value)  # which is the code under test only where its root is
            is_variable = not isinstance(value, ast.Lambda)
            self._bind(target.id, Binding(target.lineno, is_variable, is_target))
        elif isinstance(target, ast.Tuple | ast.List) and _are_as_many(target, value):
            for one, part in zip(target.elts, value.elts, strict=True):  # type: ignore[union-attr]
                self._assign(one, part)
        else:
            self.visit(target)

    def _bind(self, name: str, binding: Binding) -> None:
        scope = self._scope
        if name in scope.of_module:
            scope = scope.module
        if name in scope.of_others:
            scope.nonlocal_bound.append((name, binding))
        else:
            scope.bound.setdefault(name, []).append(binding)


def _parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def _are_as_many(target: ast.Tuple | ast.List, value: ast.expr | None) -> bool:
    is_plain = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
    return is_plain and not any(
        isinstance(part, ast.Starred)
        for part in (*target.elts, *value.elts)  # type: ignore[union-attr]
    )
