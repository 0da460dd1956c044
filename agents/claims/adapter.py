"""Adapters: a few lines that lead a claim's arguments into a code and its result out.

An adapter calls the code, hands values on and takes them apart. Arguments that the code has not
seen it may bring into the form that the code takes, by a short list of operations (split and join,
a constant more or less, dates, paths); a run finds where that is the answer already
(`mark_made_values`). It returns what the code gave, in a list at most. Imports, parameters and
assignments may give no name of the code or of Python another meaning.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import inf
from typing import Any, NamedTuple

from agents.claims.claim import Claim
from agents.claims.literals import call_of, settings_in
from agents.gates.static_checks import names_defined_by
from agents.gates.stubs import function_names
from infra.languages.python import (
    SELF_STUB,
    FunctionNode,
    ast,
    is_deep,
    names_bound_by,
    parse,
    parse_or_none,
)

NAME = "answer"
_MOST_STATEMENTS = 8
_RECEIVERS = ("self", "cls")  # of methods without their class
_MOST_LEVELS = 40  # of its syntax tree
MADE = "made_by_adapter"  # what is called with all that an adapter makes
_CONTAINERS = {"list", "tuple", "set", "dict", "frozenset", "iter", "next", "str", "bytes"}
_NUMBERS = {"int", "float", "complex"}
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)
_OPERATIONS = {
    "split", "rsplit", "splitlines", "join", "fromkeys", "strptime", "strftime", "fromisoformat",
    "isoformat", "dirname", "basename",
}  # fmt: skip
_MAKERS = {
    "StringIO", "BytesIO", "Path", "SimpleNamespace", "array", "DataFrame", "Series", "open",
    "fromarray", "date", "datetime", "timedelta", "Decimal", "Fraction",
}  # fmt: skip
_READ_OUT = {"tolist", "getvalue", "read", "items", "keys", "values", "to_dict", "decode", "encode"}
_OF_RESULTS = {"list", "tuple", "iter", "next", "tolist", "getvalue", "read", "items", "to_dict"}
_STATEMENTS = (ast.Assign, ast.Expr, ast.Return)
_EXPRESSIONS = (
    ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Starred, ast.Tuple, ast.List, ast.Dict,
    ast.Set,
)  # fmt: skip
_MADE = (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List, ast.Dict, ast.Set)


class PlainCall(NamedTuple):
    """A call of a code's only function, which hands the arguments of claims on as they stand."""

    adapter: str
    fewest: int
    most: float  # arguments that it takes

    def takes(self, arguments: str) -> bool:
        """Return True if it takes so many arguments as a claim has."""
        call = call_of(settings_in(arguments)[1])
        return call is not None and self.fewest <= len(call.args) <= self.most


class CallAdapter(ABC):
    """The way claims are run on code of one language."""

    @abstractmethod
    def adapter_fault(self, text: str, code: str) -> str:
        """Return why lines are no adapter for a code, "" where they are one."""

    @abstractmethod
    def plain_call(self, code: str) -> PlainCall | None:
        """Return the plain call of a code's only function, None where it needs more."""

    @abstractmethod
    def claims_program(
        self, claims: Sequence[Claim], adapter: str, code: str, stubs: Collection[str] = ()
    ) -> str:
        """Return the test program of claims on code with stub functions of these names."""

    def works_on_arguments(self, text: str) -> bool:  # noqa: ARG002 - by default
        """Return True if an adapter does more with arguments than to put them into containers."""
        return False


def plain_call(code: str) -> PlainCall | None:
    """Return the plain call of a code's only function, None where it needs more than arguments."""
    tree = parse_or_none(code)
    functions = [node for node in (tree.body if tree else ()) if isinstance(node, FunctionNode)]
    match functions:
        case [ast.FunctionDef(name=name, args=taken)] if None not in taken.kw_defaults:
            parameters = [*taken.posonlyargs, *taken.args]
        case _:
            return None
    if parameters and parameters[0].arg in _RECEIVERS:
        return None
    fewest = len(parameters) - len(taken.defaults)
    if taken.vararg:
        return PlainCall(f"def {NAME}(*values):\n    return {name}(*values)", fewest, inf)
    optional = [*map(ast.unparse, takewhile(is_constant, taken.defaults))]
    names = [f"value_{number}" for number in range(1, 1 + fewest + len(optional))]
    given = [*names[:fewest], *map("{}={}".format, names[fewest:], optional)]
    call = f"{name}({', '.join(names)})"
    return PlainCall(f"def {NAME}({', '.join(given)}):\n    return {call}", fewest, len(names))


def adapter_fault(text: str, code: str) -> str:
    """Return why lines are no adapter for a code, "" where they are one."""
    try:
        tree = parse(text)
    except SyntaxError as error:
        return f"it is no Python 3.11: {error}"
    if is_deep(tree, _MOST_LEVELS):
        return "it is nested too deeply"
    return f"it uses {MADE}" if MADE in text else _fault_of(tree, code)


def works_on_arguments(text: str) -> bool:
    """Return True if an adapter does more with arguments than to put them into containers."""
    for node in ast.walk(parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _NUMBERS | {"open"}:
                return True
            case ast.Call(func=ast.Attribute(attr=name)) if name in _OPERATIONS:
                return True
            case ast.BinOp() | ast.UnaryOp() if not is_constant(node):
                return True
    return False


def mark_made_values(function: ast.FunctionDef, code: str, mark: str) -> None:
    """Change a checked adapter: pass to a function, by its name, all that the adapter makes."""
    names = _names_of(function, names_defined_by(code), function_names(code))
    body = [*map(_drop_annotation, function.body)]
    function.body = []
    for statement in body:
        function.body.append(_Marks(names, mark).visit(statement))
        names.follow(statement)


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
    return _fault_of_body(function, target_names, function_names(code))


def _fault_of_import(node: ast.Import | ast.ImportFrom, target_names: Collection[str]) -> str:
    """Return why an import gives a name another meaning, "" where it does not."""
    if getattr(node, "module", "") == "target":
        return ""  # it is left out: the program has its own
    taken = _CONTAINERS | _NUMBERS | {"open", NAME, *target_names}
    renamed = {alias.asname for alias in node.names if alias.asname and alias.asname != alias.name}
    for name in names_bound_by(node):
        if name == "*" or name in taken or (name in _MAKERS and name in renamed):
            return f"line {node.lineno} gives {name} another meaning"
    return ""


def _fault_of_body(
    function: ast.FunctionDef, target_names: Collection[str], functions: Collection[str]
) -> str:
    body = function.body
    if len(body) > _MOST_STATEMENTS or not isinstance(body[-1], ast.Return):
        return f"{NAME} has at most {_MOST_STATEMENTS} lines, the last one a return"
    if function.args.kwonlyargs or function.args.kwarg:
        return f"{NAME} takes positional arguments"
    if not all(map(is_constant, function.args.defaults)):
        return f"{NAME} has constants as defaults"
    names = _names_of(function, target_names, functions)
    for statement in map(_drop_annotation, body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            fault = _fault_of_import(statement, target_names)
        else:
            fault = _fault_of_nodes(statement, functions) or names.fault_of(statement)
        if fault:
            return fault
        names.follow(statement)
    if not names.called:
        return "it does not call the code under test"
    given = body[-1].value
    is_of_code = given is not None and names.holds_result(given)
    return "" if is_of_code else f"line {body[-1].lineno} returns what the code has not seen"


def _names_of(
    function: ast.FunctionDef, target_names: Collection[str], functions: Collection[str]
) -> "_Names":
    own = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    return _Names(frozenset(functions), own, set(target_names) - own)


def _drop_annotation(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.AnnAssign) or statement.value is None:
        return statement
    return ast.copy_location(ast.Assign([statement.target], statement.value), statement)


@dataclass
class _Names:
    """The meanings of an adapter's names, from statement to statement."""

    functions: frozenset[str]  # names of the code's functions and methods
    own: set[str]  # the adapter's names
    of_code: set[str]  # the code's names, and those of what comes out of it
    # Names of what holds a value that the code gave or may have changed.
    results: set[str] = field(default_factory=set)
    kin: list[set[str]] = field(default_factory=list)  # of names that may hold parts of others
    called: bool = False  # whether the code was

    def fault_of(self, statement: ast.stmt) -> str:
        """Return the part of a statement that computes, "" without one."""
        for part in ast.walk(statement):
            if isinstance(part, ast.Set | ast.BinOp | ast.UnaryOp) and self.holds_result(part):
                kind = type(part).__name__
                return f"line {part.lineno} computes: {kind} of what the code gave"
        for call in _calls_in(statement):
            if self.is_of_code(call):
                continue
            path = ast.unparse(call.func)
            fault = f"line {call.lineno} computes: {path[:60]}"
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            harmless = _READ_OUT | _MAKERS | _OPERATIONS
            if isinstance(call.func, ast.Name):
                harmless = (_CONTAINERS | _MAKERS | _NUMBERS).difference(self.own)
            if name not in harmless and path != "re.compile":
                return fault
            shows_itself = name == "str" and bool(self.functions & {"__str__", "__repr__"})
            only_hands_out = shows_itself or name in _OF_RESULTS
            if self.holds_result(call) and not only_hands_out:
                return f"{fault} of what the code gave"
        return ""

    def follow(self, statement: ast.stmt) -> None:
        """Take over what a statement calls and assigns."""
        calls = (call for call in _calls_in(statement) if not _is_dummy(call))
        for call in filter(self.is_of_code, calls):
            self.called = True
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            handed = {name for one in given for name in self._own_in(one)}
            self.results |= handed.union(*(kin for kin in self.kin if kin & handed))
        if isinstance(statement, ast.Assign):
            parts = (part for target in statement.targets for part in _parts_of(target))
            names = {part.id for part in parts if isinstance(part, ast.Name)}
            value = statement.value
            kin = names | self._own_in(value)
            self.kin.append(kin.union(*(other for other in self.kin if other & kin)))
            holds = self.holds_result(value)
            comes = isinstance(value, ast.Call) and _root_of(value.func) in self.of_code
            self.own |= names
            self.results = self.results | names if holds else self.results - names
            self.of_code = self.of_code | names if comes else self.of_code - names

    def is_foreign(self, node: ast.expr) -> bool:
        """Return True if an expression begins with a name that is neither its own nor a code's."""
        root = _root_of(node)
        return bool(root) and root not in self.own and root not in self.of_code

    def is_of_code(self, call: ast.Call) -> bool:
        """Return True if a call is one of the code; on a result, of the code's methods alone."""
        if isinstance(call.func, ast.Attribute) and call.func.attr not in self.functions:
            return False
        return _root_of(call.func) in self.of_code

    def _own_in(self, node: ast.expr) -> set[str]:
        return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & self.own

    def holds_result(self, node: ast.AST) -> bool:
        """Return True if a value that the code gave is part of an expression."""
        return any(
            part.id in self.results
            if isinstance(part, ast.Name)
            else isinstance(part, ast.Call) and self.is_of_code(part) and not _is_dummy(part)
            for part in ast.walk(node)
        )


class _Marks(ast.NodeTransformer):
    """Puts a call around what a statement makes without the code."""

    def __init__(self, names: _Names, mark: str) -> None:
        self._names = names
        self._mark = mark

    def visit(self, node: Any) -> Any:  # noqa: ANN401 - of a statement what a visitor gives
        """Return a node with the calls in it, and around it where it makes something."""
        names = self._names
        if isinstance(getattr(node, "ctx", None), ast.Store) or is_constant(node):
            return node
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            is_part = not isinstance(node, ast.Name) and _root_of(node) not in names.of_code
            is_made = is_part or names.is_foreign(node)
        elif isinstance(node, ast.Call):
            is_made = not names.is_of_code(node)
        else:
            is_made = isinstance(node, _MADE)
        is_made = is_made and not names.holds_result(node)
        # Names that lead to a function or to a part are not visited.
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                is_dotted = isinstance(node.func.value, ast.Name | ast.Attribute)
                if not is_dotted or not names.is_foreign(node.func):
                    node.func.value = self.visit(node.func.value)
            elif not isinstance(node.func, ast.Name):
                node.func = self.visit(node.func)
            node.args = [*map(self.visit, node.args)]
            node.keywords = [*map(self.visit, node.keywords)]
        elif not isinstance(node, ast.expr) or not names.is_foreign(node):
            self.generic_visit(node)
        return ast.Call(ast.Name(self._mark), [node], []) if is_made else node


def _fault_of_nodes(statement: ast.stmt, functions: Collection[str]) -> str:
    if not isinstance(statement, _STATEMENTS):
        return f"line {statement.lineno} is more than a call: {type(statement).__name__}"
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if not all(isinstance(name, ast.Name) for target in targets for name in _parts_of(target)):
        return f"line {statement.lineno} assigns to more than names"
    for node in ast.walk(statement):
        if isinstance(node, ast.expr | ast.comprehension) and not _hands_on(node):
            return f"line {statement.lineno} computes: {type(node).__name__}"
        match node:
            case ast.Attribute(attr=name) if name.startswith("__") and name not in functions:
                return f"line {statement.lineno} reads {name}, which is Python's own"
            case ast.Call(func=ast.Name(id=name), keywords=given) if name == SELF_STUB:
                if {keyword.arg for keyword in given} & {None, *functions}:
                    return f"line {statement.lineno} gives {SELF_STUB} what the code has"
    return ""


def _hands_on(node: ast.AST) -> bool:
    """Return True if an expression only names, calls, wraps or takes a part by a constant."""
    if isinstance(node, ast.Subscript):
        return is_constant(node.slice)
    if isinstance(node, ast.BinOp):
        is_by_constant = is_constant(node.left) or is_constant(node.right)
        return is_by_constant and isinstance(node.op, _ARITHMETIC)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub)
    return isinstance(node, _EXPRESSIONS) or is_constant(node)


def is_constant(node: ast.AST) -> bool:
    """Return True if a node is a constant, with a sign or without."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant)


def _parts_of(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _calls_in(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in ast.walk(statement) if isinstance(node, ast.Call))


def _is_dummy(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == SELF_STUB


def _root_of(node: ast.expr) -> str:
    """Return the name that a dotted expression or a chain of calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
