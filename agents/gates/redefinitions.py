"""Test programs that give a name of the code under test another meaning.

A variable of a function may share a name with the code by chance: it hides the code only where the
name is called too. A function that calls the code may use the code's name for nothing else.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from infra.languages.python import (
    SELF_STUB,
    DottedNames,
    FunctionNode,
    ast,
    names_bound_by,
    variable_of,
)

_TARGET = "target"
_Function = FunctionNode | ast.Lambda
# What calls a function that it is given, and at which place.
_CALLERS = {
    "map": 0, "filter": 0, "reduce": 0, "starmap": 0, "partial": 0, "accumulate": 1, "raises": 1,
    "assertRaises": 1, "assertRaisesRegex": 2,
}  # fmt: skip


class _Part(NamedTuple):
    """A statement of a module or class without functions in it, or a whole function.

    A name has one meaning in it, or is refused.
    """

    nodes: list[ast.AST]
    around: str  # "module", "class" or "function"


class _Binding(NamedTuple):
    """A place where a name is bound to anything but the code under test."""

    line: int
    name: str
    kind: str  # "definition", "global", "variable", or "inner" variable of a comprehension


def redefinition_in(tree: ast.Module, names: DottedNames, target_names: frozenset[str]) -> str:
    """Return the place where a program rebinds a name of the code under test, "" if nowhere.

    It does where its module binds the name, where a function binds it to a function, class or
    module, and where a variable of that name is called. Methods may have any name.
    """
    functions, modules = _import_names(tree, target_names)
    places: list[tuple[int, str]] = []
    for part in _parts_of(tree, "module"):
        used = _called_names(part.nodes) & functions
        for node in part.nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=root), attr=name) if (
                    root in modules and name in target_names
                ) or (root == SELF_STUB and root in functions):
                    used.add(root)
        for binding in _bindings(part.nodes, names):
            if part.around == "module":
                hides = binding.kind != "inner"
            else:
                is_inside = (part.around, binding.kind) == ("function", "definition")
                hides = is_inside or binding.kind == "global"
            if binding.name in used or (hides and binding.name in functions | modules):
                places.append((binding.line, binding.name))
    return "line {} defines {}, which is the code under test".format(*min(places)) if places else ""


def _import_names(tree: ast.Module, target_names: frozenset[str]) -> tuple[set[str], set[str]]:
    """Return the names of what the code under test defines, and those of its module."""
    functions, modules = set(target_names), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == _TARGET:
            own = [alias for alias in node.names if alias.name in {*target_names, SELF_STUB}]
            functions.update(alias.asname or alias.name for alias in own)
        elif isinstance(node, ast.Import):
            own = [alias for alias in node.names if alias.name == _TARGET]
            modules.update(alias.asname or alias.name for alias in own)
    return functions, modules


def _parts_of(node: ast.Module | ast.ClassDef, around: str) -> Iterator[_Part]:
    """Yield the parts of a module or a class body, those inside them too."""
    nodes: list[ast.AST] = []
    for statement in node.body:
        inside = [*_outside_functions(statement)]
        nodes += inside
        if around == "module":
            yield _Part(inside, around)
        for part in inside:
            if isinstance(part, _Function):
                yield _Part([*ast.walk(part)][1:], "function")  # its own name is bound around
            elif isinstance(part, ast.ClassDef):
                yield from _parts_of(part, "class")
    if around == "class":
        yield _Part(nodes, around)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, but not what is in functions and classes."""
    yield node
    if not isinstance(node, _Function | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def _called_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are called, or handed to what calls them."""
    called: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            place = _CALLERS.get(name, len(node.args))
            keys = [keyword.value for keyword in node.keywords if keyword.arg == "key"]
            called += [node.func, *node.args[place : place + 1], *keys]
        elif isinstance(node, FunctionNode | ast.ClassDef):
            called += node.decorator_list
    return {node.id for node in called if isinstance(node, ast.Name)}


def _bindings(nodes: list[ast.AST], names: DottedNames) -> Iterator[_Binding]:
    """Yield the places where names are bound to anything but the code under test."""
    inner = {id(name) for node in nodes if isinstance(node, ast.comprehension)
             for name in ast.walk(node.target)}  # fmt: skip
    own = {id(name) for node in nodes for name in _targets_of_the_code(node, names)}
    for node in nodes:
        if id(node) not in own:
            line, kind = getattr(node, "lineno", 0), "inner" if id(node) in inner else ""
            yield from (_Binding(line, name, kind or usual) for name, usual in _bound_by(node))


def _bound_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that a node itself binds, and the kind of what these are bound to."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, "definition"
        case ast.ImportFrom(module=module) if module == _TARGET:
            return
        case ast.Import(names=[ast.alias(name=name)]) if name == _TARGET:
            return
        case ast.Import() | ast.ImportFrom():
            yield from ((name, "definition") for name in names_bound_by(node))
        case ast.Global():
            yield from ((name, "global") for name in node.names)
        case _ if name := variable_of(node):
            yield name, "variable"


def _targets_of_the_code(node: ast.AST, names: DottedNames) -> Iterator[ast.Name]:
    """Yield the names that an assignment binds to the code under test itself."""
    match node:
        case ast.Assign(targets=targets, value=value):
            pairs = [pair for target in targets for pair in _pairs(target, value)]
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            pairs = [(target, value)]
        case _:
            pairs = []
    for name, given in pairs:
        if isinstance(name, ast.Name) and names.of(given).startswith(f"{_TARGET}."):
            yield name


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return names with their values; of several ones each with its own."""
    several = ast.Tuple | ast.List
    if not isinstance(target, several):
        return [(target, value)]
    if not isinstance(value, several) or len(target.elts) != len(value.elts):
        return []
    if any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts)):
        return []
    return list(zip(target.elts, value.elts, strict=True))
