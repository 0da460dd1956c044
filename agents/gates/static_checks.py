"""Checks of a test program's text: the gates that need no run.

At the end stand those of programs that give a name of the code under test another meaning. A
variable of a function may share a name with the code by chance: it hides the code only where the
name is called too. A function that calls the code may use the code's name for nothing else.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from agents.gates import Gate
from agents.gates.exception_handlers import arguments_of, hidden_failure_in
from infra.languages.python import (
    SELF_STUB,
    UNREADABLE,
    DottedNames,
    FunctionNode,
    assertions_in,
    ast,
    is_weak,
    names_bound_by,
    parse,
    parse_or_none,
    variable_of,
)
from sandbox.inside.instrumentation import imported_assertions

_TARGET = "target"
_Function = FunctionNode | ast.Lambda
# What calls a function that it is given, and at which place.
_CALLERS = {
    "map": 0, "filter": 0, "reduce": 0, "starmap": 0, "partial": 0, "accumulate": 1, "raises": 1,
    "assertRaises": 1, "assertRaisesRegex": 2,
}  # fmt: skip
_LOOKS = {"getattr", "hasattr"}  # every other call with a module and the name of its part may patch
# What leads to the text of the code or to its instructions, and parts that do not.
_READERS = {"inspect", "dis", "linecache", "tokenize"}
_HARMLESS = (
    "inspect.is", "inspect.signature", "inspect.Parameter", "inspect.Signature", "inspect.getdoc",
    "inspect.cleandoc",
)  # fmt: skip
_OF_CODE = {
    "__code__", "__loader__", "__spec__", "f_code", "gi_code", "cr_code", "ag_code", "get_source",
    "get_code",
}  # fmt: skip
_SIZES = frozenset({"len", "shape", "size", "empty"})
_RANDOM = ("random.", "numpy.random.")
_SEEDED = (".seed", ".Random", ".default_rng", ".RandomState", ".Generator")  # by their argument
_OUTSIDE = (
    "time.time", "time.monotonic", "time.perf_counter", "time.localtime", "time.gmtime",
    "time.ctime", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
    "datetime.date.today", "secrets.", "uuid.uuid1", "uuid.uuid4", "os.urandom", "os.getrandom",
    "random.SystemRandom", "os.getpid",
    "socket.", "requests.", "urllib.request.", "http.client.",
)  # fmt: skip


def faults_of(program: str, code: str) -> dict[Gate, str]:
    """Return the gates that a program fails by its text alone, with what is wrong.

    One that is nested too deeply, or has a number of thousands of digits, is not readable.
    """
    try:
        tree = parse(program)
    except SyntaxError as error:
        return {Gate.READABLE: f"the program is no Python 3.11: {error}"}
    try:
        names, target_names = DottedNames(tree), names_defined_by(code)
        faults = {
            Gate.LEAVES_TARGET_ALONE: _redefines_target(tree, names, target_names),
            Gate.LETS_ASSERTIONS_FAIL: hidden_failure_in(tree, target_names),
            Gate.DEMANDS_VALUES: _asserts_nothing(tree),
            Gate.NEEDS_NOTHING_OUTSIDE: _is_nondeterministic(tree, names),
            Gate.IGNORES_SPELLING: _reads_code(tree, names),
        }
    except RecursionError:
        return {Gate.READABLE: "the program is nested too deeply to be checked"}
    except UNREADABLE as error:
        return {Gate.READABLE: f"the program cannot be checked: {error}"}
    return {gate: fault for gate, fault in faults.items() if fault}


def names_defined_by(code: str) -> frozenset[str]:
    """Return the names that the code under test binds at its top level, methods by dotted names.

    There are none if it is no Python.
    """
    tree = parse_or_none(code)
    body = tree.body if tree else []
    methods = (
        f"{owner.name}.{method.name}"
        for owner in body if isinstance(owner, ast.ClassDef)
        for method in owner.body if isinstance(method, FunctionNode)
    )  # fmt: skip
    own = (node for node in body if not isinstance(node, ast.Import | ast.ImportFrom))
    return frozenset([*methods, *(name for node in own for name in names_bound_by(node))])


def _redefines_target(tree: ast.Module, names: DottedNames, target_names: frozenset[str]) -> str:
    """Return the fault of a program that redefines, replaces or omits the target, else ""."""
    if defined := redefinition_in(tree, names, target_names):
        return defined
    places = (_TARGET, f"{_TARGET}.{SELF_STUB}")
    replaced = {f"{place}.{name}" for place in places for name in target_names}
    for node in ast.walk(tree):
        if _is_name_space(node, names):
            return f"line {getattr(node, 'lineno', 0)} takes target's names as a dictionary"
        if changed := replaced.intersection(_modified_names(node, names)):
            return f"line {getattr(node, 'lineno', 0)} replaces {min(changed)}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == _TARGET:
            return ""
        if isinstance(node, ast.Import) and any(alias.name == _TARGET for alias in node.names):
            return ""
    return "the program does not import the code from target"


def sets_on_modules(program: str) -> str:
    """Return the place where a program sets something on a module, "" for nowhere.

    An isolated process of the code does not see that.
    """
    tree = parse_or_none(program) or ast.Module([], [])
    names, nodes = DottedNames(tree), [*ast.walk(tree)]
    imports = (alias for node in nodes if isinstance(node, ast.Import) for alias in node.names)
    modules = {alias.name.partition(".")[0] for alias in imports} - {"sys"}
    for node in nodes:
        for changed in _modified_names(node, names):
            is_set = isinstance(node, ast.Attribute) and changed.partition(".")[0] in modules
            if is_set or changed.startswith(f"{_TARGET}."):
                return f"line {getattr(node, 'lineno', 0)} sets {changed}"
    return ""


def demands_emptiness(program: str) -> bool:
    """Return True if a program compares with an empty literal, or compares a length or shape."""
    tree = parse_or_none(program)
    sides: list[ast.expr] = []
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Compare():
                sides += (node.left, *node.comparators)
            case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert"):
                sides += node.args
    for side in sides:
        words = (getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(side))
        if not _SIZES.isdisjoint(words):
            return True
        match side:
            case (
                ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]) | ast.Constant("" | b"")
            ):
                return True
    return False


def _is_name_space(node: ast.AST, names: DottedNames) -> bool:
    match node:
        case (
            ast.Call(func=ast.Name(id="vars"), args=[module])
            | ast.Attribute(value=module, attr="__dict__")
        ):
            return names.of(module) == _TARGET
        case ast.Subscript(value=modules, slice=ast.Constant(value="target")):
            return names.of(modules) == "sys.modules"
    return False


def _modified_names(node: ast.AST, names: DottedNames) -> Iterator[str]:
    """Yield the dotted names that a node binds or deletes, or a call patches."""
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield names.of(node) or ast.unparse(node)
    elif isinstance(node, ast.Call) and names.of(node.func) not in _LOOKS:
        values = (getattr(part, "value", "") for part in node.args)
        texts = [value if isinstance(value, str) else "" for value in values]
        places = [names.of(part) or text for part, text in zip(node.args, texts, strict=True)]
        yield from texts
        yield from map(".".join, zip(places, texts[1:], strict=False))
        yield from (f"{place}.{key.arg}" for place in places[:1] for key in node.keywords)


def _asserts_nothing(tree: ast.Module) -> str:
    """Return why hardly any wrong result would fail the program, "" if one would."""
    assertions = list(assertions_in(tree, imported_assertions([*ast.walk(tree)])))
    if not assertions:
        return "the program asserts nothing"
    if all(is_weak(assertion) for assertion in assertions):
        return (
            "every assertion is a tautology or asks only for a type or for anything but None: "
            f"{ast.unparse(assertions[0])[:100]}"
        )
    return ""


def _is_nondeterministic(tree: ast.Module, names: DottedNames) -> str:
    """Return the clock, network or random number that the program depends on, "" if none."""
    called = set[tuple[int, str, bool]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = (getattr(one, "value", "") for one in arguments_of(node))
            has_argument = any(value is not None for value in given)  # other than the constant
            called.add((node.lineno, names.of(node.func), has_argument))
    seeded = any(name.endswith(_SEEDED) and has_seed for _, name, has_seed in called)
    outside = _OUTSIDE if seeded else (*_OUTSIDE, *_RANDOM)
    for line, name, has_seed in sorted(called):
        unseeded = name.startswith(_RANDOM) and name.endswith(_SEEDED) and not has_seed
        if unseeded or name.startswith(outside):
            return f"line {line} depends on {name}, which gives another answer on another run"
    return ""


def _reads_code(tree: ast.Module, names: DottedNames) -> str:
    """Return the call by which the program reads code or instructions, "" without one."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in _READERS
    }
    harmless = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and names.of(node).startswith(_HARMLESS)
    }
    for node in ast.walk(tree):
        by_name = isinstance(node, ast.Name) and node.id in imported and id(node) not in harmless
        if what := names.of(node) if by_name else _reader(node, names):
            return f"line {getattr(node, 'lineno', 0)} reads code by {what}; test what it does"
    return ""


def _reader(node: ast.AST, names: DottedNames) -> str:
    """Return the module or attribute by which a node reads code, "" for none."""
    match node:
        case ast.Constant(value=str() as name) | ast.Attribute(attr=name) if name in _OF_CODE:
            return name
        case ast.ImportFrom(module=module, names=aliases) if module in _READERS:
            parts = (f"{module}.{alias.name}" for alias in aliases)
            return next((name for name in parts if not name.startswith(_HARMLESS)), "")
        case ast.Call(func=called, args=[ast.Constant(value=str() as name), *_]):
            imports = names.of(called) in {"__import__", "importlib.import_module"}
            return name if imports and name in _READERS else ""
    return ""


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
