"""How values are spelt: what source stands for, and in which ways models write it.

Nothing of a text is run. What is known are literals, sums of numbers, joined and repeated texts and
lists, and calls that but name a value: `math.sqrt(2)`, `np.array([1, 2])`. Sizes are bounded.
"""

import builtins
import math
import operator
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any

from agents.claims.makers import FILE_NAME, FOLDER, FOLDER_NAME, MAKERS
from infra.languages._programs import UNREADABLE, ast, is_deep, parse

_MOST_LEVELS = 100  # of a syntax tree
_MOST_PARTS = 10_000  # of a value, with the parts of its parts
_MOST_BITS = 10_000  # of a power
_LONGEST_NUMBER = 100  # characters of a number in a text
_NUMBERS = (int, float, complex)
_SEQUENCES = (str, bytes, list, tuple)
_MODULES = {
    "math", "np", "numpy", "collections", "decimal", "fractions", "pd", "pandas", "builtins",
}  # fmt: skip
_SUMS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
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
_PATHS = {"file": FILE_NAME, "folder": FOLDER_NAME}  # with the names that they have by default
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
_MAKERS = MAKERS | {
    "arange", "asarray", "eye", "full", "linspace", "matrix", "namedtuple", "ones", "zeros",
}  # fmt: skip
_WITH_TYPES = (
    "array", "collections", "datetime", "decimal", "fractions", "functools", "io", "itertools",
    "pathlib", "types",
)  # fmt: skip


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


def value_of(text: str) -> object:
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
        case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
            return _bounded(_display(node))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number = _number(_value(operand))
            return -number if isinstance(sign, ast.USub) else number
        case ast.BinOp(left=left, op=op, right=right):
            return _bounded(_sum(op, _operand(left), _operand(right)))
        case ast.Call():
            return _bounded(_called(node))
        case ast.Attribute():
            return _CONSTANTS[_one_of(_known_name(node), _CONSTANTS)]
    raise ValueError(type(node).__name__)


def _called(node: ast.Call) -> object:
    """Return what a call makes: of a file or folder that a claim makes, its path."""
    match node:
        case ast.Call(func=ast.Name(id="file" | "folder" as maker), args=[_], keywords=named):
            names = [_value(keyword.value) for keyword in named if keyword.arg == "name"]
            return f"{FOLDER}/{(names or [_PATHS[maker]])[0]}"
        case ast.Call(func=function, args=parts, keywords=[]):
            return _made(_known_name(function), [*map(_value, parts)])
        case ast.Call(
            func=function, args=[ast.List() as rows],
            keywords=[ast.keyword(arg="dtype", value=ast.Attribute(attr="uint8"))],
        ) if _are_pixels(_value(rows)):  # fmt: skip
            return _made(_known_name(function), [_value(rows)])
    return _refuse("named arguments")


def _are_pixels(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_are_pixels, value))
    return isinstance(value, int) and value in range(256)


def _display(node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> object:
    if isinstance(node, ast.Dict):
        keys = [_value(key) if key else _refuse("a part of another") for key in node.keys]
        return dict(zip(keys, map(_value, node.values), strict=True))
    kinds: dict[type[ast.expr], Callable[[Iterable[object]], object]] = {
        ast.List: list, ast.Tuple: tuple, ast.Set: set,
    }  # fmt: skip
    return kinds[type(node)](map(_value, node.elts))


def _operand(node: ast.expr) -> Any:  # noqa: ANN401 - a number or a sequence
    """Return a part of a sum: of what a call makes numbers alone, since arrays add otherwise."""
    value = _value(node)
    is_sequence = isinstance(value, _SEQUENCES) and not isinstance(node, ast.Call)
    return value if is_sequence else _number(value)


def _sum(op: ast.operator, one: Any, other: Any) -> object:  # noqa: ANN401 - as above
    if isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS):
        if isinstance(op, ast.Pow) and _bits_of_power(one, other) > _MOST_BITS:
            _refuse("too large")
    elif isinstance(op, ast.Mult):
        one, other = (one, other) if isinstance(other, int) else (other, one)
        if _size(one) * max(_whole(other), 0) > _MOST_PARTS:
            _refuse("too long")
    elif not isinstance(op, ast.Add):
        _refuse("no sum")
    return _SUMS[type(op)](one, other)


def _bits_of_power(one: object, other: object) -> int:
    """Return about how many bits a power of whole numbers has; others are of a fixed size."""
    return one.bit_length() * other if isinstance(one, int) and isinstance(other, int) else 0


def _made(name: str, arguments: list[Any]) -> object:
    """Return what a call of a known name gives."""
    if name == "range":
        made = range(*map(_whole, arguments))
        return list(made) if len(made) <= _MOST_PARTS else _refuse("too long")
    if name in _ARRAYS and [*map(type, arguments)] in ([list], [tuple]):
        return arguments[0]
    if name in _OF_PARTS:
        return _OF_PARTS[name](*arguments)
    function = _OF_NUMBERS[_one_of(name, _OF_NUMBERS)]
    if name in _OF_TEXTS and [*map(type, arguments)] == [str]:
        return function(arguments[0][:_LONGEST_NUMBER])
    return function(*map(_number, arguments))


def _known_name(node: ast.expr) -> str:
    """Return the name of what a known module or Python itself has."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULES:
            return name
    return ""


def _number(value: object) -> Any:  # noqa: ANN401 - a number
    return value if isinstance(value, _NUMBERS) else _refuse("no number")


def _whole(value: object) -> int:
    return value if isinstance(value, int) else _refuse("no whole number")


def _one_of(name: str, known: Mapping[str, object]) -> str:
    return name if name in known else _refuse(name)


def _refuse(why: str) -> Any:  # noqa: ANN401 - nothing
    raise ValueError(why)


def _bounded(value: Any) -> Any:  # noqa: ANN401 - whatever was made
    return value if _size(value) <= _MOST_PARTS else _refuse("too large")


def _size(value: object) -> int:
    """Return how many parts a value has, with the parts of its parts."""
    if isinstance(value, str | bytes):
        return 1 + len(value)
    return 1 + sum(map(_size, _parts_of(value)))


def _parts_of(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from (part for item in value.items() for part in item)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from value


def spelt(value: str) -> str:
    """Return a value as it would be told: without marks of code and what stands behind it.

    An exception's name alone, or with a message, is that the call raises it.
    """
    text = _without_comment(value).strip().strip("`").strip().rstrip(",;").rstrip()
    if found := _ERROR.fullmatch(text):
        return f"raises {found[1] or found[2]}"
    return _WORDS.get(text, text)


def spelt_arguments(arguments: str) -> str:
    """Return arguments as they would be told: those of a call too, by a name that makes nothing."""
    text = arguments.strip().strip("`").strip()
    match expression(f"({text}\n)"):
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if not _is_maker(name):
            return ", ".join(map(ast.unparse, given))
    return text


def _is_maker(name: str) -> bool:
    kinds = (getattr(import_module(module), name, None) for module in _WITH_TYPES)
    return name in _MAKERS or hasattr(builtins, name) or any(isinstance(one, type) for one in kinds)


def first_line(lines: Sequence[str]) -> tuple[str, int]:
    """Return the first line, with those in which its text or bracket ends, and how many these are.

    Args:
        lines: The line and at most `MOST_JOINED` in all, with their ends.
    """
    whole = ""
    for number, line in enumerate(lines, 1):
        kept = line.rstrip("\r\n")
        whole += kept
        state = _open(whole)
        if not state:
            return whole, number
        if len(whole) > _LONGEST_JOINED:
            break
        whole += repr(line[len(kept) :])[1:-1] if state == "text" else " "
    return (lines[0].rstrip("\r\n"), 1) if lines else ("", 0)


def _without_comment(text: str) -> str:
    for found in _TEXT_OR_COMMENT.finditer(text):
        if found[0].startswith("#"):
            return text[: found.start()]
    return text


def _open(text: str) -> str:
    """Return what a piece of source leaves open: a text, a bracket or nothing, "" then."""
    rest = _TEXT_OR_COMMENT.sub("", text)
    if "'" in rest or '"' in rest:
        return "text"
    opened, closed = (sum(map(rest.count, marks)) for marks in ("([{", ")]}"))
    return "bracket" if opened > closed else ""
