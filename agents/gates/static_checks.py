"""Checks of a test program's text: the gates that need no run."""

from collections.abc import Iterator

from agents.gates.exception_handlers import arguments_of, hidden_failure_in
from agents.gates.gates import Gate
from agents.gates.redefinitions import redefinition_in
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
)
from sandbox.inside.instrumentation import imported_assertions

_TARGET = "target"
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
    assertions = list(assertions_in(tree, imported_assertions(tree)))
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
