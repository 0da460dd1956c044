"""Imports and stubs that an isolated function needs to be run, added without a model.

Of CoSQA's functions about a fifth run once their imports are there, and a third are methods without
their class. The function itself stays as it is. A line of imports and shims comes before it, for
names that it uses and binds nowhere; annotations, which name types of other files, are left
unevaluated. After a method comes a class of objects to call it with: they have the method and the
attributes that a test gives them, and nothing else, so that no result is made up.

Statements are put before code, or right behind those that must be first, also by others.
"""

import ast
import builtins
import symtable
import sys
import warnings
from collections.abc import Collection, Iterator

from infra.languages.python.syntax import (
    UNREADABLE,
    FunctionNode,
    parse,
    parse_or_none,
    variable_of,
)

_SHIMS = {
    "xrange": "xrange = range",
    "unicode": "unicode = str",
    "basestring": "basestring = str",
    "long": "long = int",
    "raw_input": "raw_input = input",
    "unichr": "unichr = chr",
    "cmp": "cmp = lambda one, other: (one > other) - (one < other)",
    "izip": "izip = zip",
    "iteritems": "iteritems = lambda table: iter(table.items())",
}
_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "nx": "networkx"}
_THIRD_PARTY = {"numpy", "pandas", "scipy", "networkx", "requests", "six", "yaml", "dateutil"}
_MEMBERS = {
    "typing": "Any Callable Dict Iterable Iterator List Mapping Optional Sequence Set Tuple Union",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "functools": "partial reduce wraps",
    "itertools": "chain combinations groupby islice permutations product zip_longest",
    "bisect": "bisect_left bisect_right",
    "datetime": "timedelta",
    "decimal": "Decimal",
    "copy": "deepcopy",
    "io": "BytesIO StringIO",
    "pathlib": "Path",
}
_MODULE_OF = {name: module for module, names in _MEMBERS.items() for name in names.split()}
_LAZY = "from __future__ import annotations"
SELF_STUB = "DummySelf"
_DUMMY_CLASS = f"""
from types import SimpleNamespace
class {SELF_STUB}(SimpleNamespace):
    __eq__, __hash__ = object.__eq__, object.__hash__
    def __call__(self, *_, **__):
        def unknown(*_):
            raise NameError("nobody knows what a call of DummySelf gives")
        names = "bool str repr iter len int float index contains getitem getattr eq ne lt le gt ge"
        return type("{SELF_STUB}", (), {{f"__{{name}}__": unknown for name in names.split()}})()"""
RECEIVERS = {"self", "cls"}
_GIVEN = {"__file__", "__class__"}  # to modules and to methods
_OWN_NAMES = {"datetime", "copy", "time", "pprint", "glob"}  # of modules with a member of that name
_METHODS = {"now", "strptime", "utcnow", "combine", "fromtimestamp"}  # of datetime.datetime


def scaffolded(code: str, given: Collection[str] = ()) -> str:
    """Return the code with known imports and stubs that it lacks.

    For a method without its class, the module gets a class ``DummySelf`` that takes attributes
    by name: ``f(DummySelf(y=2), 3)`` or ``DummySelf(y=2).f(3)``. An attribute that is one itself
    takes any call, as a callback does; who uses what it gives lacks something.

    Code that is no Python 3 is returned as it is.

    Args:
        code: The code.
        given: Names that something else binds.
    """
    tree = parse_or_none(code)
    if tree is None:
        return code
    known = {*_bound(tree), *given, *dir(builtins)}
    annotated: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode) and node.returns:
            annotated += ast.walk(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            annotated += ast.walk(node.annotation)
    lazy = [_LAZY] if {part.id for part in annotated if isinstance(part, ast.Name)} - known else []
    unevaluated = set(map(id, annotated))
    evaluated: set[str] = set()
    members: dict[str, set[str]] = {}  # of each name
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in unevaluated:
            evaluated.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            members.setdefault(node.value.id, set()).add(node.attr)
    lacking = (undefined_names(code) & evaluated) - set(given)
    lines = sorted(filter(None, (_binding(name, members.get(name, ())) for name in lacking)))
    whole = with_imports(code, "; ".join(lazy + lines)) if lazy or lines else code
    functions = (node for node in tree.body if isinstance(node, FunctionNode))
    methods = [node.name for node in functions if _is_method(node)]
    if not methods or SELF_STUB in known:
        return whole
    # Names that Python itself calls are not bound: a dummy is made and read in the usual way.
    bound = (f"\n{SELF_STUB}.{name} = {name}" for name in methods if not name.endswith("__"))
    return "".join((whole, _DUMMY_CLASS, *bound, "\n"))


def bound_names(code: str) -> frozenset[str]:
    """Return the names that code binds anywhere; none if it is no Python 3."""
    tree = parse_or_none(code)
    return frozenset(_bound(tree)) if tree else frozenset()


def undefined_names(code: str) -> frozenset[str]:
    """Return the names that code looks up in its module and does not bind there.

    Built-in ones are none of them.

    Those of annotations are looked up too, but where code begins by leaving them unevaluated. Code
    that is no Python 3 lacks none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(code, "target.py", "exec")
    except UNREADABLE:
        return frozenset()
    bound = {
        name.get_name()
        for name in table.get_symbols()
        if name.is_assigned() or name.is_imported() or name.is_namespace()
    }
    return frozenset(_looked_up(table)) - bound - set(dir(builtins)) - _GIVEN


def _looked_up(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that a scope, and those inside it, look up in their module."""
    for name in table.get_symbols():
        is_used = name.is_referenced() or name.is_declared_global()
        if is_used and (table.get_type() == "module" or name.is_global()):
            yield name.get_name()
    for inner in table.get_children():
        if inner.get_name() != "_annotation":  # left unevaluated
            yield from _looked_up(inner)


def with_support_code(code: str, support_code: str, *, scaffolding: bool) -> str:
    """Return the module of a code and of what stands beside it, which comes first.

    Args:
        code: The code.
        support_code: Imports and definitions of names that the code lacks; "" for none.
        scaffolding: Whether each of them is scaffolded.

    Raises:
        SyntaxError: Something stands beside code that is no Python 3.
    """
    if support_code.strip():
        names = [name for node in parse(support_code).body for name in names_bound_by(node)]
        whole = scaffolded(code, names) if scaffolding else code
        return with_definitions(whole, scaffolded(support_code) if scaffolding else support_code)
    return scaffolded(code) if scaffolding else code


def self_attributes(code: str) -> tuple[str, ...]:
    """Return the attributes that free methods read from self, sorted by name.

    That is what an object needs on which a test calls them; the methods of the code are on it.
    """
    tree = parse_or_none(code)
    functions = [node for node in tree.body if isinstance(node, FunctionNode)] if tree else []
    parts = (part for method in filter(_is_method, functions) for part in ast.walk(method))
    read: set[str] = set()
    for part in parts:
        match part:
            case (  # read itself, or read to change it
                ast.Attribute(value=ast.Name(id=holder), attr=name, ctx=ast.Load())
                | ast.AugAssign(target=ast.Attribute(value=ast.Name(id=holder), attr=name))
            ) if holder in RECEIVERS:
                read.add(name)
    own = {node.name for node in functions}
    return tuple(sorted(name for name in read - own if not name.startswith("__")))


def _is_method(node: FunctionNode) -> bool:
    first = [*node.args.posonlyargs, *node.args.args][:1]
    return any(argument.arg in RECEIVERS for argument in first)


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if name := variable_of(node):
            yield name
        elif isinstance(node, FunctionNode | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _binding(name: str, members: Collection[str]) -> str:
    """Return the statement that binds a name with members, "" for one that is not known."""
    if name in _SHIMS:
        return _SHIMS[name]
    if name in _ALIASES:
        return f"import {_ALIASES[name]} as {name}"
    if name in _MODULE_OF:
        return f"from {_MODULE_OF[name]} import {name}"
    if name in _OWN_NAMES and (not members or _METHODS.intersection(members)):
        return f"from {name} import {name}"
    is_module = name in sys.stdlib_module_names or name in _THIRD_PARTY
    return f"import {name}" if is_module and members else ""


def with_imports(code: str, lines: str) -> str:
    """Return code with statements before it, or right behind those that must be first.

    No line of the code gets another number but by the lines that come before all of it.

    Raises:
        SyntaxError: The code is no Python 3.
    """
    first, rest = _split_at_futures(code)
    if not first:
        return f"{lines.strip()}\n{code}"
    return first + "; ".join(("", *map(ast.unparse, parse(lines.strip()).body))) + rest


def with_definitions(code: str, lines: str) -> str:
    """Return code with lines of any statements before it, or behind those that must be first.

    Raises:
        SyntaxError: The code is no Python 3.
    """
    first, rest = _split_at_futures(code)
    return "\n".join((*filter(None, (first, lines.strip())), rest.lstrip(" \t;")))


def _split_at_futures(code: str) -> tuple[str, str]:
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


class DottedNames:
    """Resolves ``d.now`` after ``from datetime import datetime as d`` to ``datetime.datetime.now``.

    Args:
        tree: The program; of imports by one name the last in its text counts.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._origins: dict[str, str] = {}
        nodes = ast.walk(tree)  # a visitor would call itself for each level of a hostile program
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in sorted(imports, key=lambda node: (node.lineno, node.col_offset)):
            for alias in node.names:
                if isinstance(node, ast.ImportFrom):
                    self._origins[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
                elif alias.asname:
                    self._origins[alias.asname] = alias.name
                else:
                    root = alias.name.partition(".")[0]
                    self._origins[root] = root

    def of(self, node: ast.AST) -> str:
        """Return the dotted name of an expression, "" for one that is no chain of names."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join((self._origins.get(node.id, node.id), *reversed(parts)))
