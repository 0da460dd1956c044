"""A claim: arguments of a call, and the value that the query demands of it, both as source."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import regex

from agents.claims.fixtures import normalise_output
from agents.claims.literals import (
    MOST_JOINED,
    UnknownValueError,
    are_files,
    call_of,
    expression,
    first_line,
    has_valid_fixtures,
    literal_eval,
    normalised,
    normalised_arguments,
    settings_in,
    surroundings_of,
)
from agents.claims.values import approx_equal, suits, to_plain
from infra.languages.python import UNREADABLE, ast
from infra.records import Record

ARROW = "=>"
_ARROWS = re.compile(r"=>|->|→|⇒|==")
_RAISES = re.compile(r"raises ([A-Za-z_][A-Za-z0-9_.]*)")
_DEMAND = re.compile(
    r"(?:(prints lines|prints|writes|leaves) )?(?:(contains|matches|one of) )?(.+)", re.DOTALL
)
_TOO_BROAD = {"Exception", "BaseException", "AssertionError"}  # they say nothing
_LONGEST_LINE = 1_000  # characters
_LONGEST_TEXT = 30_000  # characters that are read
_MOST_ARROWS = 8  # of a line that are tried
_MOST_VALUES = 5  # of which one is demanded
_LONGEST_PATTERN = 200  # characters
_MATCHING_S = 1.0  # seconds
# What patterns of all languages that are run have, and mean alike.
_PATTERN = re.compile(
    r"""(?:[^][\\(){}*+?] | \\[dwsDWSbntr] | \\[^A-Za-z0-9] | \((?:\?:)?(?![?*+{]) | \)
    | \[\^?(?:[^][\\^] | \\[dwsDWSntr] | \\[^A-Za-z0-9])+\]
    | (?:[*+?] | \{\d{1,3}(?:,\d{0,3})?\})\??(?![*+?{]))+""",
    re.VERBOSE,
)
# Of what all texts of a length are, as a pattern that demands nothing says.
_TEXTS = (("",), ("a", "0", "-"), ("a0", "- ", "0a"), ("a0- b1", "0a b-2", "- -a0b"))
# They lead to the code under test, or to what runs it.
_OF_PLACES = {
    "target", "sys", "os", "modules", "builtins", "importlib", "inspect", "gc", "eval", "exec",
    "compile", "globals", "locals", "vars",
}  # fmt: skip
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


class Demand(NamedTuple):
    """A claim's value in its parts."""

    effect: str  # what must be printed, written or left; "" where what the call gives counts
    way: str  # "contains", "matches" or "one of", "" for the value itself
    wanted: str  # as source


class Claim(Record):
    """The result that an answer must give for a call.

    Attributes:
        arguments: The positional arguments, as in ``[3, 1], 2``; variables and a program's
            arguments that are set for the call stand among them, as in ``argv('prog', '-x')``.
        value: An expression, ``raises`` with the name of an exception, ``prints`` with a text that
            is compared by words, ``prints lines`` with one compared by lines, ``writes`` with name
            → content of files, or ``leaves`` with name → value of the first argument's attributes.
            Less is demanded of a value, or after ``prints``, by ``contains`` with words in this
            order, ``matches`` with a pattern of the whole text, and ``one of`` with a list.
    """

    arguments: str
    value: str

    @cached_property
    def error_type(self) -> str:
        """The exception that is demanded, "" where a value is."""
        found = _RAISES.fullmatch(self.value)
        return found[1].rpartition(".")[2] if found else ""

    @cached_property
    def demand(self) -> Demand:
        """The value in its parts."""
        return demand_of(self.value)

    @cached_property
    def needs_work(self) -> bool:
        """Return True if the identity function would not satisfy the claim."""
        if self.demand.effect == "writes":
            wanted = literal_eval(self.demand.wanted)
            before = surroundings_of(self.arguments).files
            return isinstance(wanted, dict) and any(
                normalise_output(before.get(name)) != normalise_output(content)
                for name, content in wanted.items()
            )
        if self.demand.effect:
            return True  # what is left so before the call cannot be run
        call = call_of(self.arguments)
        return not (call and any(same_value(ast.unparse(one), self.value) for one in call.args))

    def __str__(self) -> str:
        return f"{self.arguments} {ARROW} {self.value}"


def claims_in(text: str, most: int) -> tuple[Claim, ...]:
    """Return the claims that a text has, one a line; lines that hold none are passed over.

    A line goes on while one of its texts or brackets is open.
    """
    claims = (claim for _, claim in _lines_in(text) if claim)
    return tuple(islice(dict.fromkeys(claims), most))


def unread_line(text: str) -> str:
    """Return the first line that holds no claim, "" where all do."""
    return next((line.strip() for line, claim in _lines_in(text) if line.strip() and not claim), "")


def _lines_in(text: str) -> Iterator[tuple[str, Claim | None]]:
    lines, place = text[:_LONGEST_TEXT].splitlines(keepends=True), 0
    while place < len(lines):
        whole, size = first_line(lines[place : place + MOST_JOINED])
        claim = _claim_of(whole)
        if claim is None and size > 1:  # what seemed open is an apostrophe
            claim, size = _claim_of(lines[place]), 1
        yield lines[place], claim
        place += size


def demand_of(value: str) -> Demand:
    """Return a value in its parts."""
    found = _DEMAND.fullmatch(value)
    return Demand(*(part or "" for part in found.groups())) if found else Demand("", "", value)


def same_value(one: str, other: str) -> bool:
    """Return True if two values, as source, are equal, or written alike where they have names.

    Printed texts are compared as the other one says: by its words, or by its lines. A value is the
    same as a demand that it meets.
    """
    first, second = demand_of(one), demand_of(other)
    if first.effect[:6] != second.effect[:6]:  # of "prints lines"
        return False
    if first.way or second.way:
        return _is_met(first, second) if second.way else _is_met(second, first)
    if first.effect:
        by_lines = second.effect == "prints lines"
        try:
            texts = [
                normalise_output(literal_eval(one.wanted), by_lines=by_lines)
                for one in (first, second)
            ]
        except UnknownValueError:
            return False
        return approx_equal(*map(to_plain, texts))
    try:
        return approx_equal(to_plain(literal_eval(one)), to_plain(literal_eval(other)))
    except (*UNREADABLE, TypeError, ArithmeticError):
        return _canonical_source(one) == _canonical_source(other)


def _is_met(given: Demand, demanded: Demand) -> bool:
    """Return True if a known value, or the same demand, meets a demand for less than a value."""
    if demanded.way == "one of" and not (given.way or given.effect):
        return any(same_value(given.wanted, one) for one in _list_items(demanded.wanted))
    wanted = _known_value(demanded.wanted)
    value = _known_value(given.wanted)
    if not wanted or not value or given.way:
        return given.way == demanded.way and same_value(given.wanted, demanded.wanted)
    found = to_plain(normalise_output(*value, by_lines=True) if given.effect else value[0])
    return meets(found, demanded.way, wanted[0])


def meets(value: object, way: str, wanted: Any) -> bool:  # noqa: ANN401 - a list or a text
    """Return the result of `suits`, of a pattern within bounded time."""
    if way != "matches":
        return suits(value, way, wanted if way == "contains" else [*map(to_plain, wanted)])
    try:
        found = isinstance(value, str) and regex.fullmatch(
            wanted, value, regex.ASCII, timeout=_MATCHING_S
        )
    except TimeoutError:
        return False
    return bool(found)


def states_value(text: str, value: str) -> bool:
    """Return True if a reply's text is a value, as source, or that text without quotes."""
    said = normalised(text)
    if is_value(said) and same_value(said, value):
        return True
    if _RAISES.fullmatch(said) or _known_value(said):
        return False
    known = _known_value(value)
    is_text = bool(known) and isinstance(known[0], str) and known[0] != ""
    return is_text and known[0] in (text, text.strip().strip("`"))


def _known_value(text: str) -> tuple[object, ...]:
    """Return the value of source alone in a tuple, () where it is not known."""
    try:
        return (literal_eval(text),)
    except UnknownValueError:
        return ()


def _canonical_source(text: str) -> str:
    """Return a text in one way of writing it: that of its expression, where it is one."""
    if found := _RAISES.fullmatch(text.strip()):
        return f"raises {found[1].rpartition('.')[2]}"
    tree = expression(f"({text}\n)")
    return " ".join(text.split()) if tree is None else ast.unparse(_WithoutModules().visit(tree))


class _WithoutModules(ast.NodeTransformer):
    """Writes `datetime.date` as `date`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: N802 - a visitor's
        """Return the name itself of what a name that stands for itself has."""
        self.generic_visit(node)
        return ast.Name(node.attr) if isinstance(node.value, ast.Name) else node


def is_value(text: str) -> bool:
    """Return True if a text is an expression, or what a call must raise, print or write."""
    if found := _RAISES.fullmatch(text):
        return found[1].rpartition(".")[2] not in _TOO_BROAD
    effect, way, source = demand_of(text)
    if effect or way:
        if way:
            return effect in ("", "prints") and _is_telling(way, source)
        (wanted,) = _known_value(source) or (None,)
        if effect == "leaves":
            return isinstance(wanted, dict) and all(
                isinstance(name, str) and name.isidentifier() and not name.startswith("_")
                for name in wanted
            )
        return are_files(wanted) if effect == "writes" else isinstance(wanted, str)
    # One expression, or the parts of a tuple.
    return bool(text) and are_arguments(text) and not settings_in(text)[0]


def _list_items(source: str) -> list[str]:
    """Return the parts of a list, as source; none of another expression."""
    tree = expression(f"({source}\n)")
    return (
        [*map(ast.unparse, tree.elts)] if isinstance(tree, ast.List | ast.Tuple | ast.Set) else []
    )


def _is_telling(way: str, source: str) -> bool:
    """Return True if there are values that do not meet a demand for less than a value."""
    if way == "one of":
        values = _list_items(source)
        is_free = all(any(same_value(truth, one) for one in values) for truth in ("True", "False"))
        return 1 < len(values) <= _MOST_VALUES and all(map(is_value, values)) and not is_free
    (wanted,) = _known_value(source) or (None,)
    if not isinstance(wanted, str):
        return False
    if way == "contains":
        return any(map(str.isalnum, wanted))
    if len(wanted) > _LONGEST_PATTERN or not _PATTERN.fullmatch(wanted):
        return False
    try:
        re.compile(wanted)
    except (re.error, OverflowError, RecursionError):
        return False
    return not any(all(meets(text, way, wanted) for text in texts) for texts in _TEXTS)


def _claim_of(line: str) -> Claim | None:
    """Return the claim of a line, at its first arrow between arguments and a value."""
    line = _BULLET.sub("", line).strip().strip("`")
    if len(line) > _LONGEST_LINE:
        return None
    for arrow in islice(_ARROWS.finditer(line), _MOST_ARROWS):
        arguments = normalised_arguments(line[: arrow.start()])
        value = normalised(line[arrow.end() :])
        if are_arguments(arguments) and is_value(value):
            return Claim(arguments=arguments, value=value)
    return None


def are_arguments(text: str) -> bool:
    """Return True if a text is the positional arguments of a call, none among them."""
    tree = call_of(text)
    return (
        tree is not None
        and isinstance(tree.func, ast.Name)  # not the call of a call: `1)(2`
        and not tree.keywords
        and not any(isinstance(part, ast.Starred) for part in tree.args)
        and not any(map(_is_bound_to_its_place, ast.walk(tree)))
        and not any(getattr(part, "value", None) is ... for part in ast.walk(tree))
        and has_valid_fixtures(tree)
    )


def _is_bound_to_its_place(node: ast.AST) -> bool:
    """Return True if a node binds a name, or takes a private one such as `__import__`."""
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return name.startswith("_") or name in _OF_PLACES
    return isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
