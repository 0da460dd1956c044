"""Normalised literals: the value of source, and the ways in which models write one.

Nothing of a text is run. Known are literals, sums of numbers, joined and repeated texts and lists,
files of claims by their paths, and calls that name a value: `math.sqrt(2)`, `np.array([1, 2])`.
Sizes are bounded.
"""

import builtins
import math
import operator
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple, TypeGuard

from agents.claims.fixtures import FILE_NAME, FIXTURES, FOLDER, FOLDER_NAME
from agents.claims.values import MOST_PARTS, NUMBERS
from infra.languages.python import UNREADABLE, ast, is_deep, parse

_MOST_LEVELS = 100  # of a syntax tree
_MOST_BITS = 10_000  # of a power
_LONGEST_NUMBER = 100  # characters of a number in a text
_SEQUENCES = (str, bytes, list, tuple)
_MODULES = {
    "math", "np", "numpy", "collections", "decimal", "fractions", "pd", "pandas", "builtins",
}  # fmt: skip
_SUMS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_DISPLAYS: dict[type[ast.expr], Callable[[Iterable[object]], object]] = {
    ast.List: list, ast.Tuple: tuple, ast.Set: set,
}  # fmt: skip
_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
_OF_NUMBERS: dict[str, Callable[..., object]] = {
    **{name: getattr(math, name) for name in (
        "sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
        "sinh", "cosh", "tanh", "radians", "degrees", "floor", "ceil", "hypot", "gcd",
    )},
    "abs": abs, "round": round, "int": int, "float": float, "complex": complex, "bool": bool,
    "int64": int, "int32": int, "float64": float, "bool_": bool, "Fraction": Fraction,
    "Decimal": Decimal,
}  # fmt: skip
_OF_TEXTS = {"float", "Decimal"}  # of those above; they may be given a number as text
_OF_PARTS: dict[str, Callable[..., object]] = {
    "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque,
    "dict": dict, "OrderedDict": OrderedDict, "Counter": Counter,
}  # fmt: skip
_ARRAYS = {"array", "asarray", "Series"}
_NAMES = {"file": FILE_NAME, "folder": FOLDER_NAME}  # by default
_LONGEST_NAME = 100  # characters of a path
_MOST_FILES = 50
_SETTERS = frozenset({"environ", "argv"})  # set for a call; no arguments of it
_LONGEST_JOINED = 1_000  # characters of lines that are one
MOST_JOINED = 12  # lines
_WORDS = {"true": "True", "false": "False", "null": "None"}
_ERROR = re.compile(
    r"(?:raises? (?:an? )?([A-Za-z_][\w.]*)|([A-Za-z_][\w.]*(?:Error|Exception)|StopIteration))"
    r"(?:\s*\(.*\))?\.?"
)
_TEXT_OR_COMMENT = re.compile(
    r"'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|#.*",
    re.DOTALL,
)
# What a claim may call to make an argument, beside Python's own and the types of these modules.
_OF_NUMPY = {
    "arange", "asarray", "eye", "full", "linspace", "matrix", "namedtuple", "ones", "zeros",
}  # fmt: skip
_WITH_TYPES = (
    "array", "collections", "datetime", "decimal", "fractions", "functools", "io", "itertools",
    "pathlib", "types",
)  # fmt: skip


_Files = dict[str, str | bytes | None]  # path → content, None of a folder


class Surroundings(NamedTuple):
    """The fixtures that a claim makes around a call."""

    files: _Files  # folders before what is in them
    times: dict[str, float]  # path → seconds at which a file was changed last
    variables: dict[str, str]
    words: list[str]  # of the program's arguments


class UnknownValueError(ValueError):
    """A text has no value that is known without running it, or one that is too large."""


def expression(text: str) -> ast.expr | None:
    """Return the tree of a text that is one expression, None where it is none or nested deeply."""
    try:
        body = parse(text).body
    except SyntaxError:
        return None
    [statement] = body if len(body) == 1 else [None]
    if not isinstance(statement, ast.Expr) or is_deep(statement, _MOST_LEVELS):
        return None
    return statement.value


def call_of(arguments: str) -> ast.Call | None:
    """Return the tree of a call that is given arguments, None where they are none."""
    call = expression(f"f({arguments}\n)")
    return call if isinstance(call, ast.Call) else None


def literal_eval(text: str) -> object:
    """Return the value of an expression.

    Raises:
        UnknownValueError: It is none, or its value is not known without running it, or too large.
    """
    tree = expression(f"({text}\n)") if text.strip() else None
    if tree is None:
        raise UnknownValueError("no expression")
    try:
        return _value(tree)
    except (*UNREADABLE, TypeError, ArithmeticError) as error:
        raise UnknownValueError(f"no value that is known: {error}") from None


def _value(node: ast.expr) -> Any:  # noqa: ANN401 - whatever is written
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number = _require_type(_value(operand), *NUMBERS)
            return -number if isinstance(sign, ast.USub) else number
        case ast.Attribute() if (name := _known_name(node)) in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Dict():
            keys = [_value(key) for key in node.keys if key]  # None stands for a part of another
            made: object = dict(zip(keys, map(_value, node.values), strict=True))
        case ast.List() | ast.Tuple() | ast.Set():
            made = _DISPLAYS[type(node)](map(_value, node.elts))
        case ast.BinOp(left=left, op=op, right=right):
            made = _sum(op, _operand(left), _operand(right))
        case ast.Call():
            made = _evaluate_call(node)
        case _:
            raise ValueError(type(node).__name__)
    if _size(made) > MOST_PARTS:
        raise ValueError("too large")
    return made


def _evaluate_call(node: ast.Call) -> object:
    """Return the value that a call makes: of a file or folder, its path."""
    match node:
        case ast.Call(func=ast.Name(id="file" | "folder" as maker), args=[_], keywords=named):
            names = [_value(keyword.value) for keyword in named if keyword.arg == "name"]
            return f"{FOLDER}/{(names or [_NAMES[maker]])[0]}"
        case ast.Call(func=function, args=parts, keywords=[]):
            return _call_value(_known_name(function), [*map(_value, parts)])
        case ast.Call(
            func=function, args=[ast.List() as rows],
            keywords=[ast.keyword(arg="dtype", value=ast.Attribute(attr="uint8"))],
        ) if _are_pixels(_value(rows)):  # fmt: skip
            return _call_value(_known_name(function), [_value(rows)])
    raise ValueError("named arguments")


def _are_pixels(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_are_pixels, value))
    return isinstance(value, int) and value in range(256)


def _operand(node: ast.expr) -> Any:  # noqa: ANN401 - a number or a sequence
    """Return a part of a sum; a call's value must be a number, since arrays add otherwise."""
    value = _value(node)
    is_sequence = isinstance(value, _SEQUENCES) and not isinstance(node, ast.Call)
    return value if is_sequence else _require_type(value, *NUMBERS)


def _sum(op: ast.operator, one: Any, other: Any) -> object:  # noqa: ANN401 - as above
    are_numbers = isinstance(one, NUMBERS) and isinstance(other, NUMBERS)
    if isinstance(op, ast.Pow) and isinstance(one, int) and isinstance(other, int):
        if one.bit_length() * other > _MOST_BITS:
            raise ValueError("too large")
    elif isinstance(op, ast.Mult) and not are_numbers:
        one, other = (one, other) if isinstance(other, int) else (other, one)
        if _size(one) * max(_require_type(other, int), 0) > MOST_PARTS:
            raise ValueError("too long")
    elif not are_numbers and not isinstance(op, ast.Add):
        raise TypeError("no sum")
    return _SUMS[type(op)](one, other)


def _call_value(name: str, arguments: list[Any]) -> object:
    """Return the result of a call of a known name."""
    if name == "range":
        made = range(*(_require_type(one, int) for one in arguments))
        if len(made) > MOST_PARTS:
            raise ValueError("too long")
        return list(made)
    if name in _ARRAYS and [*map(type, arguments)] in ([list], [tuple]):
        return arguments[0]
    if name in _OF_PARTS:
        return _OF_PARTS[name](*arguments)
    if name not in _OF_NUMBERS:
        raise ValueError(name)
    if name in _OF_TEXTS and [*map(type, arguments)] == [str]:
        return _OF_NUMBERS[name](arguments[0][:_LONGEST_NUMBER])
    return _OF_NUMBERS[name](*(_require_type(one, *NUMBERS) for one in arguments))


def _known_name(node: ast.expr) -> str:
    """Return the name of what a known module or Python itself has."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULES:
            return name
    return ""


def _require_type(value: object, *kinds: type) -> Any:  # noqa: ANN401 - one of these kinds
    if not isinstance(value, kinds):
        raise TypeError("a part of another kind")
    return value


def _size(value: object) -> int:
    """Return the number of a value's parts, nested ones included."""
    if isinstance(value, str | bytes):
        return 1 + len(value)
    if isinstance(value, dict):
        return 1 + sum(_size(key) + _size(item) for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset | deque):
        return 1 + sum(map(_size, value))
    return 1


def normalised(value: str) -> str:
    """Return a value without marks of code and what stands behind it.

    An exception's name alone, or with a message, is that the call raises it.
    """
    comment = (one for one in _TEXT_OR_COMMENT.finditer(value) if one[0].startswith("#"))
    end = next((one.start() for one in comment), len(value))
    text = value[:end].strip().strip("`").strip().rstrip(",;").rstrip()
    if found := _ERROR.fullmatch(text):
        return f"raises {found[1] or found[2]}"
    return _WORDS.get(text, text)


def normalised_arguments(arguments: str) -> str:
    """Return arguments without marks of code and names, those of a call if its name makes nothing.

    Who gives them has seen no code whose parameters these names could be.
    """
    text = arguments.strip().strip("`").strip()
    call = expression(f"({text}\n)")
    if not _is_of_answer(call):
        call = call_of(text)
        if not _is_of_answer(call) or not call.keywords:
            return text
    return ", ".join(map(ast.unparse, (*call.args, *(one.value for one in call.keywords))))


def _is_of_answer(call: ast.expr | None) -> TypeGuard[ast.Call]:
    """Return True if an expression calls by a name that makes nothing."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    name = call.func.id
    kinds = (getattr(import_module(module), name, None) for module in _WITH_TYPES)
    is_type = any(isinstance(kind, type) for kind in kinds)
    makes_value = name in FIXTURES | _OF_NUMPY or hasattr(builtins, name) or is_type
    return not makes_value and all(one.arg for one in call.keywords)


def first_line(lines: Sequence[str]) -> tuple[str, int]:
    """Return the first line, with those in which its text or bracket ends, and their number."""
    whole = ""
    for number, line in enumerate(lines, 1):
        kept = line.rstrip("\r\n")
        whole += kept
        rest = _TEXT_OR_COMMENT.sub("", whole)
        is_text = "'" in rest or '"' in rest
        opened, closed = (sum(map(rest.count, marks)) for marks in ("([{", ")]}"))
        if not is_text and opened <= closed:
            return whole, number
        if len(whole) > _LONGEST_JOINED:
            break
        whole += repr(line[len(kept) :])[1:-1] if is_text else " "
    return (lines[0].rstrip("\r\n"), 1) if lines else ("", 0)


def has_valid_fixtures(call: ast.Call) -> bool:
    """Return True if files of a claim's call stay in its folder, and what is set are texts.

    A fixture may only be called: handed on, it could be given any name.
    """
    named = [node for node in ast.walk(call) if isinstance(node, ast.Name) and node.id in FIXTURES]
    files = [node for node in ast.walk(call) if _fixture_of(node) in _NAMES]
    settings = [node for node in call.args if _fixture_of(node) in _SETTERS]
    streams = [node for node in ast.walk(call) if _fixture_of(node) == "stream"]
    return (
        len(named) == len(files) + len(settings) + len(streams)
        and all(_is_setting(node) for node in settings)
        and all(_files_of(node) is not None for node in files)
    )


def settings_in(arguments: str) -> tuple[list[str], str]:
    """Return a claim's arguments that set variables and `sys.argv`, and the others."""
    call = call_of(arguments)
    parts = call.args if call else []
    settings = [part for part in parts if _fixture_of(part) in _SETTERS]
    if not settings:
        return [], arguments
    others = (ast.unparse(part) for part in parts if part not in settings)
    return [*map(ast.unparse, settings)], ", ".join(others)


def has_fixtures(source: str) -> bool:
    """Return True if arguments have more than values."""
    call = call_of(source)
    return any(_fixture_of(node) for node in (ast.walk(call) if call else ()))


def surroundings_of(arguments: str) -> Surroundings:
    """Return the fixtures that a claim's arguments make around a call."""
    found = Surroundings({}, {}, {}, [])
    call = call_of(arguments)
    for node in ast.walk(call) if call else ():
        match node:
            case ast.Call(func=ast.Name(id="argv"), args=words):
                found.words[:] = map(_value, words)
            case ast.Call(func=ast.Name(id="environ"), keywords=variables):
                found.variables.update({str(one.arg): _value(one.value) for one in variables})
            case ast.Call() if files := _files_of(node):
                found.files.update(files)
                times = (_value(one.value) for one in node.keywords if one.arg == "time")
                found.times.update((path, time) for time in times for path in files)
    return found


def are_files(value: object) -> bool:
    """Return True if a value is path → content of files, None for one that must not be there."""
    return (
        isinstance(value, dict)
        and 0 < len(value) <= _MOST_FILES
        and all(map(_is_path, value))
        and all(isinstance(content, str | bytes | None) for content in value.values())
    )


def _fixture_of(node: ast.AST) -> str:
    """Return the name of the fixture that a node calls, "" for none."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in FIXTURES:
            return name
    return ""


def _is_setting(node: ast.AST) -> bool:
    """Return True if a call gives texts: `argv` one after the other, `environ` each by its name."""
    match node:
        case ast.Call(func=ast.Name(id="argv"), args=[_, *_] as values, keywords=[]):
            pass
        case ast.Call(func=ast.Name(id="environ"), args=[], keywords=[_, *_] as variables):
            values = [one.value for one in variables if one.arg is not None]
            if len(values) < len(variables):
                return False
        case _:
            return False
    texts = [one.value if isinstance(one, ast.Constant) else None for one in values]
    return all(isinstance(text, str) and "\0" not in text for text in texts)


def _files_of(node: ast.AST) -> _Files | None:
    """Return path → content of the files that a call makes, None where it makes none or others."""
    match node:
        case ast.Call(
            func=ast.Name(id="file" | "folder" as kind),
            args=[content],
            keywords=keywords,
        ) if {one.arg for one in keywords} <= {"name", *(["time"] if kind == "file" else [])}:
            named = {str(one.arg): ast.unparse(one.value) for one in keywords}
        case _:
            return None
    try:
        made = literal_eval(ast.unparse(content))
        name = literal_eval(named["name"]) if "name" in named else _NAMES[kind]
        time = literal_eval(named.get("time", "0"))
        files = dict(_files_in(name, made))
    except (UnknownValueError, ValueError):
        return None
    is_of_kind = isinstance(made, dict) == (kind == "folder") and isinstance(time, int | float)
    return files if is_of_kind and len(files) <= _MOST_FILES else None


def _files_in(name: object, content: object) -> Iterator[tuple[str, str | bytes | None]]:
    """Yield path and content of a file or a folder with its files.

    Raises:
        ValueError: A name is none, or leads elsewhere.
    """
    is_name = isinstance(name, str) and _is_path(name) and "/" not in name
    if not is_name or not isinstance(content, str | bytes | dict):
        raise ValueError("no file")
    if isinstance(content, str | bytes):
        yield str(name), content
        return
    yield str(name), None
    for part, inner in content.items():
        yield from ((f"{name}/{path}", data) for path, data in _files_in(part, inner))


def _is_path(name: object) -> bool:
    """Return True if a name leads to a place within a folder."""
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
        return False
    return all(part not in ("", ".", "..") for part in name.split("/"))
