"""A claim: arguments of a call, and the value that the query demands of it, both as source."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from agents.claims.values import alike, plain
from infra.languages.python.syntax import UNREADABLE, is_deep, parse
from infra.records import Record

ARROW = "=>"
_RAISES = re.compile(r"raises ([A-Za-z_][A-Za-z0-9_.]*)")
_TOO_BROAD = {"Exception", "BaseException", "AssertionError"}  # they say nothing
_LONGEST_LINE = 1_000  # characters
_MOST_LEVELS = 100  # of a syntax tree
_MOST_LINES, _MOST_ARROWS = 200, 8  # that are tried: of a text, of a line
# They lead to the code under test, or to what runs it.
_OF_PLACES = {
    "target", "sys", "os", "modules", "builtins", "importlib", "inspect", "gc", "eval", "exec",
    "compile", "globals", "locals", "vars",
}  # fmt: skip
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


class Claim(Record):
    """What an answer must give for a call.

    Attributes:
        arguments: The positional arguments, as in ``[3, 1], 2``.
        value: An expression, or ``raises`` with the name of an exception.
    """

    arguments: str
    value: str

    @cached_property
    def error_type(self) -> str:
        """The exception that is demanded, "" where a value is."""
        found = _RAISES.fullmatch(self.value)
        return found[1].rpartition(".")[2] if found else ""

    @cached_property
    def needs_work(self) -> bool:
        """Whether its value is none of its arguments, so that giving one back does not hold it."""
        call = _expression(f"f({self.arguments}\n)")
        arguments = call.args if isinstance(call, ast.Call) else []
        return not any(same_value(ast.unparse(one), self.value) for one in arguments)

    def __str__(self) -> str:
        return f"{self.arguments} {ARROW} {self.value}"


def claims_in(text: str, most: int) -> tuple[Claim, ...]:
    """Return the claims that a text has, one a line; lines that hold none are passed over.

    Args:
        text: Lines as in ``[3, 1], 2 => [1, 3]``.
        most: How many are taken.
    """
    lines = islice((line for line in text.splitlines() if ARROW in line), _MOST_LINES)
    found: dict[Claim, None] = {}
    for claim in (claim for line in lines for claim in _claims_of(line)):
        found[claim] = None
        if len(found) == most:
            break
    return tuple(found)


def same_value(one: str, other: str) -> bool:
    """Return whether two values, as source, are equal, or the same text where they have names."""
    try:
        first, second = (plain(ast.literal_eval(text.strip())) for text in (one, other))
        return alike(first, second)
    except (*UNREADABLE, TypeError):
        return _written(one) == _written(other)


def _written(text: str) -> str:
    """Return a text in one way of writing it: that of its expression, where it is one."""
    tree = _expression(f"({text}\n)")
    return " ".join(text.split()) if tree is None else ast.unparse(tree)


def is_value(text: str) -> bool:
    """Return whether a text is an expression, or an exception that a call must raise."""
    found = _RAISES.fullmatch(text)
    if found:
        return found[1].rpartition(".")[2] not in _TOO_BROAD
    return bool(text) and are_arguments(text)  # one, or the parts of a tuple


def _claims_of(line: str) -> Iterator[Claim]:
    """Yield the claim of a line: at its first arrow that has arguments before it, a value after."""
    line = _BULLET.sub("", line).strip().strip("`")
    if len(line) > _LONGEST_LINE:
        return
    for arrow in islice(re.finditer(ARROW, line), _MOST_ARROWS):
        arguments, value = line[: arrow.start()].strip(), line[arrow.end() :].strip()
        if are_arguments(arguments) and is_value(value):
            yield Claim(arguments=arguments, value=value)
            return


def are_arguments(text: str) -> bool:
    """Return whether a text is the positional arguments of a call, none among them."""
    tree = _expression(f"f({text}\n)")
    return (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Name)  # not the call of a call: `1)(2`
        and not tree.keywords
        and not any(isinstance(part, ast.Starred) for part in tree.args)
        and _is_plain(tree)
    )


def _is_plain(tree: ast.expr) -> bool:
    """Return whether an expression means the same wherever it stands.

    It binds no name and takes nothing whose name begins with an underscore, such as `__import__`.
    """
    return not any(map(_is_bound_to_its_place, ast.walk(tree)))


def _is_bound_to_its_place(node: ast.AST) -> bool:
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return name.startswith("_") or name in _OF_PLACES
    return isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)


def _expression(text: str) -> ast.expr | None:
    try:
        body = parse(text).body
    except SyntaxError:
        return None
    [statement] = body if len(body) == 1 else [None]
    if not isinstance(statement, ast.Expr) or is_deep(statement, _MOST_LEVELS):
        return None
    return statement.value
