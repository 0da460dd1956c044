"""Adapters: a few lines that lead a claim's arguments into a code and its result out.

An adapter may not compute, else it would answer in the code's place: it calls the code, hands
values on, takes them apart and changes their container, and that is all. A name means in it what it
means in the code or in Python: imports, parameters and assignments that take another's make it no
adapter, or no call of the code.
"""

import ast
from collections.abc import Collection, Iterator

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
    if function.args.defaults or function.args.kwonlyargs or function.args.kwarg:
        return f"{NAME} takes positional arguments without defaults"
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
    own = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    of_code = set(target_names) - own  # with what comes out of it
    called = False
    for statement in body:
        if fault := _fault_of_nodes(statement, functions):
            return fault
        for call in _calls_in(statement):
            if _root_of(call.func) in of_code and _is_of_code(call.func, functions):
                called |= ast.unparse(call.func) != DUMMY
            elif not _is_harmless(call.func, own):
                return f"line {call.lineno} computes: {ast.unparse(call.func)[:60]}"
        names = _assigned_by(statement)
        own |= names
        is_of_code = isinstance(statement, ast.Assign) and _comes_from(statement.value, of_code)
        of_code = of_code | names if is_of_code else of_code - names
    return "" if called else "it does not call the code under test"


def _fault_of_nodes(statement: ast.stmt, functions: Collection[str]) -> str:
    if not isinstance(statement, _STATEMENTS):
        return f"line {statement.lineno} is more than a call: {type(statement).__name__}"
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if not all(isinstance(target, ast.Name) for target in targets):
        return f"line {statement.lineno} assigns to more than a name"
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
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant)
    return isinstance(node, _EXPRESSIONS)


def _assigned_by(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


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
