"""Test programs led to another code, where its function can take the same calls.

Syntax alone decides, so a program that fits may still mean something else by its calls.
"""

import ast
from collections.abc import Collection, Iterator, Sequence

from infra.languages.python.imports import DottedNames
from infra.languages.python.scaffolding import DUMMY, RECEIVERS
from infra.languages.python.syntax import FunctionNode, is_deep, parse

_TARGET = "target"
_MOST_LEVELS = 100  # of a program's syntax tree


class MisfitError(ValueError):
    """A program's calls do not fit another code; the message says why."""


def retargeted(program: str, code: str, other: str) -> str:
    """Return a program with its calls of one code's function led to that of another code.

    Args:
        program: Imports ``code`` as ``target``; of its functions it uses one.
        code: The code that it was written for.
        other: The other code.

    Raises:
        MisfitError: The other code has no such function, or the function takes other calls.
    """
    tree = _read(program, "the program")
    if is_deep(tree, _MOST_LEVELS):
        raise MisfitError("the program is nested too deeply")
    uses = _Uses(tree)
    known = _functions_of(code)
    if uses.function not in known:
        raise MisfitError(f"{uses.function} is no function of the code it was written for")
    function, own = known[uses.function], _counterpart(uses.function, other)
    _refuse_other_kind(function, own)
    for positional, keywords in uses.calls(function):
        _refuse_other_call(function, own, positional, keywords)
    if uses.is_called_unseen and _shape_of(function) != _shape_of(own):
        raise MisfitError(f"not all calls are to be seen, and {own.name} has other parameters")
    if own.name == function.name:
        return program
    if uses.is_called_as_method:
        raise MisfitError(f"{function.name} is called on an object, which has {own.name}")
    return ast.unparse(_Renaming(uses.names, function.name, own.name).visit(tree))


class _Uses:
    """What a program uses of the code that it tests.

    Attributes:
        names: The program's names.
        function: The one function of the code that it uses.

    Raises:
        MisfitError: It is not one, or is taken in a way that cannot be followed.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.names = DottedNames(tree)
        used = {name for node in ast.walk(tree) for name in self._used_by(node)}
        if "*" in used or self._hands_on_module():
            raise MisfitError("the program does not say what it takes from the code")
        functions = used - {DUMMY}
        if len(functions) != 1:
            told = ", ".join(sorted(functions)) or "none"
            raise MisfitError(
                f"the program takes more than one name from the code, or none: {told}"
            )
        [self.function] = functions

    def calls(self, function: FunctionNode) -> Iterator[tuple[int, frozenset[str]]]:
        """Yield how many positional arguments and which keywords each call has, if that is seen."""
        for call in self._calls():
            if not _is_unseen(call):
                is_bound = not self._is_function(call.func) and _is_method(function)
                keywords = frozenset(str(keyword.arg) for keyword in call.keywords)
                yield len(call.args) + is_bound, keywords

    @property
    def is_called_unseen(self) -> bool:
        """Whether the function is handed on, or called with arguments that are unpacked."""
        called = {id(call.func) for call in self._calls()}
        handed_on = (
            self._is_function(node) and id(node) not in called for node in ast.walk(self._tree)
        )
        return any(handed_on) or any(map(_is_unseen, self._calls()))

    @property
    def is_called_as_method(self) -> bool:
        """Whether an object's attribute has the function's name."""
        nodes = (node for node in ast.walk(self._tree) if isinstance(node, ast.Attribute))
        return any(node.attr == self.function and not self._is_function(node) for node in nodes)

    def _calls(self) -> Iterator[ast.Call]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and (
                self._is_function(node.func)
                or (isinstance(node.func, ast.Attribute) and node.func.attr == self.function)
            ):
                yield node

    def _is_function(self, node: ast.AST) -> bool:
        is_name = isinstance(node, ast.Name | ast.Attribute)
        return is_name and self.names.of(node) == f"{_TARGET}.{self.function}"

    def _used_by(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom) and node.module == _TARGET:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Name | ast.Attribute):
            root, _, rest = self.names.of(node).partition(".")
            if root == _TARGET and rest:
                yield rest.partition(".")[0]

    def _hands_on_module(self) -> bool:
        """Return whether the module is used otherwise than to take a name from it."""
        holders = {
            id(node.value) for node in ast.walk(self._tree) if isinstance(node, ast.Attribute)
        }
        return any(
            isinstance(node, ast.Name)
            and self.names.of(node) == _TARGET
            and id(node) not in holders
            for node in ast.walk(self._tree)
        )


class _Renaming(ast.NodeTransformer):
    """Takes another function from ``target``, under the name that the program has for it."""

    def __init__(self, names: DottedNames, before: str, after: str) -> None:
        self._names = names
        self._before = before
        self._after = after

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module == _TARGET:
            for alias in node.names:
                if alias.name == self._before:
                    alias.name, alias.asname = self._after, alias.asname or self._before
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        is_function = self._names.of(node) == f"{_TARGET}.{self._before}"
        self.generic_visit(node)
        if is_function:
            node.attr = self._after
        return node


def _read(text: str, what: str) -> ast.Module:
    try:
        return parse(text)
    except SyntaxError as error:
        raise MisfitError(f"{what} is no Python 3.11: {error}") from None


def _functions_of(code: str) -> dict[str, FunctionNode]:
    body = _read(code, "the code").body
    return {node.name: node for node in body if isinstance(node, FunctionNode)}


def _counterpart(name: str, other: str) -> FunctionNode:
    """Return the function of that name, or the only one."""
    functions = _functions_of(other)
    if name in functions:
        return functions[name]
    if len(functions) != 1:
        raise MisfitError(f"the code has no function {name}, and {len(functions)} others")
    [function] = functions.values()
    return function


def _refuse_other_kind(function: FunctionNode, own: FunctionNode) -> None:
    for differs, told in (
        (type(function) is not type(own), "one of both is asynchronous"),
        (_is_method(function) != _is_method(own), "one of both is a method"),
        (_is_generator(function) != _is_generator(own), "one of both is a generator"),
    ):
        if differs:
            raise MisfitError(f"{told}: {function.name}, {own.name}")


def _refuse_other_call(
    function: FunctionNode, own: FunctionNode, positional: int, keywords: Collection[str]
) -> None:
    """Refuse a call that one of both takes and the other does not, or takes in another order."""
    if _takes(function.args, positional, keywords) != _takes(own.args, positional, keywords):
        told = f"{positional} positional arguments" + "".join(f", {name}" for name in keywords)
        raise MisfitError(f"{own.name} does not take the calls of {function.name}: {told}")
    before, after = (_names_of(node.args)[:positional] for node in (function, own))
    moved = set(before).intersection(after) - {
        one for one, other in zip(before, after, strict=False) if one == other
    }
    if moved:
        raise MisfitError(f"{own.name} takes {min(moved)} at another place")


def _takes(parameters: ast.arguments, positional: int, keywords: Collection[str]) -> bool:
    """Return whether a function can be called with so many arguments and these keywords."""
    names = _names_of(parameters)
    if positional > len(names) and not parameters.vararg:
        return False
    by_keyword = {*names[len(parameters.posonlyargs) :], *_names(parameters.kwonlyargs)}
    given = set(keywords)
    twice = given & by_keyword & set(names[:positional])
    if twice or (given - by_keyword and not parameters.kwarg):
        return False
    without_default = names[: len(names) - len(parameters.defaults)]
    needed = {*without_default[positional:]}
    needed |= {
        name
        for name, default in zip(_names(parameters.kwonlyargs), parameters.kw_defaults, strict=True)
        if default is None
    }
    return needed <= given & by_keyword


def _shape_of(function: FunctionNode) -> tuple[object, ...]:
    """Return what decides which calls a function takes, however they are made."""
    parameters = function.args
    return (
        _names_of(parameters),
        len(parameters.posonlyargs),
        len(parameters.defaults),
        sorted(_names(parameters.kwonlyargs)),
        parameters.vararg is None,
        parameters.kwarg is None,
    )


def _names_of(parameters: ast.arguments) -> list[str]:
    return _names([*parameters.posonlyargs, *parameters.args])


def _names(parameters: Sequence[ast.arg]) -> list[str]:
    return [parameter.arg for parameter in parameters]


def _is_unseen(call: ast.Call) -> bool:
    unpacked = any(isinstance(argument, ast.Starred) for argument in call.args)
    return unpacked or any(keyword.arg is None for keyword in call.keywords)


def _is_method(function: FunctionNode) -> bool:
    return not RECEIVERS.isdisjoint(_names_of(function.args)[:1])


def _is_generator(function: FunctionNode) -> bool:
    """Return whether a function yields; functions within it may, by themselves."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return False
