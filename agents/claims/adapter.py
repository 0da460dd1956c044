"""Adapters: a few lines that lead a claim's arguments into a code and its result out.

An adapter may not compute, else it would answer in the code's place: it calls the code, hands
values on, takes them apart and changes the container of arguments, and that is all. What the code
gave it may put into a list, but for instance not into a set or a text. A name means in it what it
means in the code or in Python: imports, parameters and assignments that take another's make it no
adapter, or no call of the code.
"""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from agents.gates.static_checks import names_defined_by
from infra.languages.python.imports import names_bound_by
from infra.languages.python.scaffolding import DUMMY
from infra.languages.python.syntax import FunctionNode, is_deep, parse, parse_or_none

NAME = "answer"
_MOST_STATEMENTS = 8
_MOST_LEVELS = 40  # of its syntax tree
_CONTAINERS = {"list", "tuple", "set", "dict", "frozenset", "iter", "next", "str", "bytes"}
_MAKERS = {"StringIO", "BytesIO", "Path", "SimpleNamespace", "array", "DataFrame", "Series"}
_READ_OUT = {"tolist", "getvalue", "read", "items", "keys", "values", "to_dict", "decode", "encode"}
_OF_RESULTS = {"list", "tuple", "iter", "next", "tolist", "getvalue", "read", "items", "to_dict"}
_STATEMENTS = (ast.Assign, ast.Expr, ast.Return)
_EXPRESSIONS = (
    ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Starred, ast.Tuple, ast.List, ast.Dict,
    ast.Set,
)  # fmt: skip


def adapter_fault(text: str, code: str) -> str:
    """Return why lines are no adapter for a code, "" where they are one.

    Args:
        text: Import statements and a function ``answer``.
        code: The code under test, scaffolding included.
    """
    try:
        tree = parse(text)
    except SyntaxError as error:
        return f"it is no Python 3.11: {error}"
    if is_deep(tree, _MOST_LEVELS):
        return "it is nested too deeply"
    return _fault_of(tree, code)


def _fault_of(tree: ast.Module, code: str) -> str:
    functions = [node for node in tree.body if isinstance(node, FunctionNode)]
    if len(functions) != 1 or functions[0].name != NAME:
        return f"it must define one function, {NAME}"
    [function] = functions
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return f"{NAME} must be a plain function"
    target_names = names_defined_by(code)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            if fault := _fault_of_import(node, target_names):
                return fault
        elif node is not function:
            return f"beside {NAME} it may have imports alone"
    return _fault_of_body(function, target_names, _functions_in(code))


def _fault_of_import(node: ast.Import | ast.ImportFrom, target_names: Collection[str]) -> str:
    """Return why an import gives a name another meaning, "" where it does not."""
    if getattr(node, "module", "") == "target":
        return ""  # it is left out: the program has its own
    taken = _CONTAINERS | {NAME, *target_names}
    renamed = {alias.asname for alias in node.names if alias.asname and alias.asname != alias.name}
    for name in names_bound_by(node):
        if name == "*" or name in taken or (name in _MAKERS and name in renamed):
            return f"line {node.lineno} gives {name} another meaning"
    return ""


def _functions_in(code: str) -> frozenset[str]:
    """Return the names of all functions and methods of the code."""
    tree = parse_or_none(code)
    nodes = ast.walk(tree) if tree else ()
    return frozenset(node.name for node in nodes if isinstance(node, FunctionNode))


def _fault_of_body(
    function: ast.FunctionDef, target_names: Collection[str], functions: Collection[str]
) -> str:
    body = function.body
    if len(body) > _MOST_STATEMENTS or not isinstance(body[-1], ast.Return):
        return f"{NAME} has at most {_MOST_STATEMENTS} lines, the last one a return"
    if function.args.kwonlyargs or function.args.kwarg:
        return f"{NAME} takes positional arguments"
    if not all(map(_is_constant, function.args.defaults)):
        return f"{NAME} has constants as defaults"
    own = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    names = _Names(frozenset(functions), own, set(target_names) - own)
    for statement in map(_without_annotation, body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            fault = _fault_of_import(statement, target_names)
        else:
            fault = _fault_of_nodes(statement, functions) or names.fault_of(statement)
        if fault:
            return fault
        names.follow(statement)
    return "" if names.called else "it does not call the code under test"


def _without_annotation(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.AnnAssign) or statement.value is None:
        return statement
    return ast.copy_location(ast.Assign([statement.target], statement.value), statement)


@dataclass
class _Names:
    """What the names of an adapter stand for, from statement to statement.

    Attributes:
        functions: The names of the code's functions and methods.
        own: The adapter's names.
        of_code: The code's names, and those of what comes out of it.
        results: Names of what holds a value that the code gave or may have changed.
        called: Whether the code was called.
    """

    functions: frozenset[str]
    own: set[str]
    of_code: set[str]
    results: set[str] = field(default_factory=set)
    called: bool = False

    def fault_of(self, statement: ast.stmt) -> str:
        """Return what of a statement computes, "" where nothing does."""
        for part in ast.walk(statement):
            if isinstance(part, ast.Set) and self._holds_result(part):
                return f"line {part.lineno} computes: a set of what the code gave"
        for call in _calls_in(statement):
            told = f"line {call.lineno} computes: {ast.unparse(call.func)[:60]}"
            if not self._is_of_code(call):
                if not _is_harmless(call.func, self.own):
                    return told
                if self._holds_result(call) and not self._only_hands_out(call.func):
                    return f"{told} of what the code gave"
        return ""

    def follow(self, statement: ast.stmt) -> None:
        """Take over what a statement calls and assigns."""
        for call in filter(self._is_of_code, _calls_in(statement)):
            self.called |= ast.unparse(call.func) != DUMMY
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            self.results |= {one.id for one in given if isinstance(one, ast.Name)}
        if isinstance(statement, ast.Assign):
            names, value = _assigned_by(statement), statement.value
            holds, comes = self._holds_result(value), _comes_from(value, self.of_code)
            self.own |= names
            self.results = self.results | names if holds else self.results - names
            self.of_code = self.of_code | names if comes else self.of_code - names

    def _is_of_code(self, call: ast.Call) -> bool:
        return _root_of(call.func) in self.of_code and _is_of_code(call.func, self.functions)

    def _holds_result(self, node: ast.expr) -> bool:
        """Return whether a value that the code gave is part of an expression."""
        return any(
            part.id in self.results
            if isinstance(part, ast.Name)
            else isinstance(part, ast.Call) and self._is_of_code(part)
            for part in ast.walk(node)
        )

    def _only_hands_out(self, function: ast.expr) -> bool:
        """Return whether a call leaves the code's values as they are, in another list at most."""
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        shows_itself = name == "str" and bool(self.functions & {"__str__", "__repr__"})
        return shows_itself or name in _OF_RESULTS


def _fault_of_nodes(statement: ast.stmt, functions: Collection[str]) -> str:
    if not isinstance(statement, _STATEMENTS):
        return f"line {statement.lineno} is more than a call: {type(statement).__name__}"
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if not all(isinstance(name, ast.Name) for target in targets for name in _parts_of(target)):
        return f"line {statement.lineno} assigns to more than names"
    for node in ast.walk(statement):
        if isinstance(node, ast.expr | ast.comprehension) and not _hands_on(node):
            return f"line {statement.lineno} computes: {type(node).__name__}"
        if fault := _fault_of_names(node, functions):
            return f"line {statement.lineno} {fault}"
    return ""


def _fault_of_names(node: ast.AST, functions: Collection[str]) -> str:
    match node:
        case ast.Attribute(attr=name) if name.startswith("__") and name not in functions:
            return f"reads {name}, which is Python's own"
        case ast.Call(func=ast.Name(id=name), keywords=keywords) if name == DUMMY:
            if {keyword.arg for keyword in keywords} & {None, *functions}:
                return f"gives {DUMMY} what the code has"
    return ""


def _hands_on(node: ast.AST) -> bool:
    """Return whether an expression only names, calls, wraps or takes a part by a constant."""
    if isinstance(node, ast.Subscript):
        return _is_constant(node.slice)
    return isinstance(node, _EXPRESSIONS) or _is_constant(node)


def _is_constant(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant)


def _parts_of(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _assigned_by(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = (part for target in targets for part in _parts_of(target))
    return {part.id for part in parts if isinstance(part, ast.Name)}


def _calls_in(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in ast.walk(statement) if isinstance(node, ast.Call))


def _root_of(node: ast.expr) -> str:
    """Return the name that a dotted expression or a chain of calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_of_code(function: ast.expr, functions: Collection[str]) -> bool:
    """Return whether what is called is the code's: of a result, the code's own methods alone."""
    return not isinstance(function, ast.Attribute) or function.attr in functions


def _is_harmless(function: ast.expr, own: Collection[str]) -> bool:
    """Return whether a call changes a container at most; ``own`` names are the adapter's."""
    if isinstance(function, ast.Name):
        return function.id in (_CONTAINERS | _MAKERS).difference(own)
    return isinstance(function, ast.Attribute) and function.attr in _READ_OUT | _MAKERS


def _comes_from(value: ast.expr, of_code: Collection[str]) -> bool:
    return isinstance(value, ast.Call) and _root_of(value.func) in of_code
