"""Claims on code in JavaScript: an adapter in that language, and the program that runs them.

A claim's arguments and values stay as the specification has them, and are said in JavaScript here:
numbers, texts, truth values, lists, dictionaries and sets; a claim with others is not run. An
adapter calls the code with its arguments, in other containers at most, and hands out what the code
gave. The program refuses a value that the adapter makes where it is the one demanded.
"""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files

from tree_sitter import Node

from agents.claims.adapter import NAME
from agents.claims.claim import Claim
from agents.claims.making import settings_in
from agents.claims.program import TEST
from agents.claims.spelling import UnknownValueError, expression, value_of
from infra.languages._programs import UNREADABLE, ast
from infra.languages.javascript import JavaScript

_MOST_STATEMENTS = 8
_LARGEST = 2**53  # of whole numbers that are exact in JavaScript
_CONSTANTS = {"number", "string", "true", "false", "null", "undefined"}
_CONTAINERS = {"array", "object", "pair", "spread_element", "parenthesized_expression"}
_HANDS_OUT = {"Array.from", "Object.entries", "Object.fromEntries"}
_MAKES = {"Map", "Set", "Date", *_HANDS_OUT}
_EFFECTS = {"prints": "words", "prints lines": "lines"}


def adapter_fault(text: str, code: str) -> str:
    """Return why lines are no adapter for a code, "" where they are one.

    Args:
        text: A function ``answer``.
        code: The code under test.
    """
    language = JavaScript()
    try:
        root = language.root_of(text)
    except SyntaxError:
        return "it cannot be read"
    functions = [node for node in root.named_children if node.type != "comment"]
    if root.has_error or len(functions) != 1 or functions[0].type != "function_declaration":
        return f"it must be one function, {NAME}, of JavaScript"
    return _Adapter(functions[0], language.called_names(code)).fault()


def works_on_arguments(_text: str) -> bool:
    """Return False: an adapter in JavaScript puts arguments into containers and no more."""
    return False


def claims_program(
    claims: Sequence[Claim],
    adapter: str,
    code: str,
    beside: Collection[str] = (),  # noqa: ARG001 - nothing stands beside code in JavaScript
) -> str:
    """Return the program with one test for each claim.

    Args:
        claims: The claims, in the order of the tests.
        adapter: A checked adapter.
        code: The code under test, or its module.
        beside: Nothing.
    """
    names = sorted(JavaScript().called_names(code))
    helpers = files("agents.claims").joinpath("javascript.js").read_text("utf-8")
    called = "\n".join(f"const {name} = claims.called({json.dumps(name)});" for name in names)
    made = f"claims.adapter = (() => {{\n{called}\n{adapter}\nreturn {NAME};\n}})();"
    return "\n".join((helpers, made, *_tests(claims)))


def said(value: object) -> str:
    """Return a value of Python as an expression of JavaScript.

    Raises:
        UnknownValueError: It has none.
    """
    if value is None or isinstance(value, bool | str):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) < _LARGEST:
        return f"({value})"
    if isinstance(value, float):
        return f"({value!r})" if math.isfinite(value) else f"({'-' * (value < 0)}Infinity)"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(said, value))}]"
    if isinstance(value, set | frozenset):
        return f"new Set([{', '.join(map(said, value))}])"
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        items = (f"[{json.dumps(key)}]: {said(item)}" for key, item in value.items())
        return f"{{ {', '.join(items)} }}"
    raise UnknownValueError(f"{type(value).__name__} is not said in JavaScript")


def _tests(claims: Sequence[Claim]) -> Iterator[str]:
    for number, claim in enumerate(claims, 1):
        try:
            line = _call(claim)
        except (*UNREADABLE, ValueError, TypeError, ArithmeticError) as error:
            line = f"throw new Error({json.dumps(f'not said in JavaScript: {error}'[:200])});"
        yield f"function {TEST}{number}() {{\n  {line}\n}}"


def _call(claim: Claim) -> str:
    kind, arguments, value = parts_of(claim)
    given = ", ".join(map(said, arguments))
    if kind == "raises":
        return f"return claims.raises([{given}], {json.dumps(value)});"
    if kind == "gives":
        return f"return claims.gives([{given}], {said(value)});"
    return f"return claims.prints([{given}], {said(value)}, '{_EFFECTS[kind]}');"


def parts_of(claim: Claim) -> tuple[str, list[object], object]:
    """Return a claim as values: whether it gives, raises or prints, the arguments, what it demands.

    Raises:
        UnknownValueError: It has settings, named arguments, or another effect.
    """
    settings, arguments = settings_in(claim.arguments)
    call = expression(f"f({arguments}\n)")
    if settings or not isinstance(call, ast.Call) or call.keywords:
        raise UnknownValueError("settings and named arguments")
    given = [value_of(ast.unparse(one)) for one in call.args]
    if claim.error_type:
        return "raises", given, claim.error_type
    if not claim.effect:
        return "gives", given, value_of(claim.value)
    kind = claim.value.removesuffix(claim.effect).strip()
    if kind not in _EFFECTS:
        raise UnknownValueError(kind)
    return kind, given, value_of(claim.effect)


class _Adapter:
    """One adapter, followed from statement to statement.

    Args:
        function: Its declaration.
        of_code: Names of the code's functions.
    """

    def __init__(self, function: Node, of_code: Collection[str]) -> None:
        self._function = function
        self._of_code = of_code
        self._own: set[str] = set()
        self._results: set[str] = set()  # names of what the code gave, or was given
        self._is_called = False

    def fault(self) -> str:
        """Return what is wrong with it, "" for nothing."""
        body = self._function.child_by_field_name("body")
        statements = [one for one in body.named_children if one.type != "comment"] if body else []
        if fault := self._fault_of_header():
            return fault
        if not 0 < len(statements) <= _MOST_STATEMENTS:
            return f"{NAME} has at most {_MOST_STATEMENTS} statements"
        *before, last = statements
        for statement in before:
            if not self._follows(statement):
                return f"line {statement.start_point.row + 1} is more than a call"
        value = last.named_children[0] if last.named_children else None
        if last.type != "return_statement" or value is None or not self._hands_out(value):
            return f"line {last.start_point.row + 1} returns more than what the code gave"
        return "" if self._is_called else "it does not call the code under test"

    def _fault_of_header(self) -> str:
        parameters = self._function.child_by_field_name("parameters")
        names = parameters.named_children if parameters else []
        is_plain = all(parameter.type == "identifier" for parameter in names)
        if not is_plain or _text(self._function.child_by_field_name("name")) != NAME:
            return f"it must be a function {NAME} with plain parameters"
        self._own = set(map(_text, names))
        taken = self._own & {*self._of_code, "claims", *_MAKES}
        return f"it gives {min(taken)} another meaning" if taken else ""

    def _follows(self, statement: Node) -> bool:
        """Take over what a statement names; return whether it may stand there."""
        if statement.type == "expression_statement":
            return self._hands_out(statement.named_children[0])
        if statement.type != "lexical_declaration" or statement.named_child_count != 1:
            return False
        name = statement.named_children[0].child_by_field_name("name")
        value = statement.named_children[0].child_by_field_name("value")
        if name is None or value is None or name.type != "identifier":
            return False
        if _text(name) in {*self._own, *self._of_code, "claims", *_MAKES}:
            return False
        if self._hands_out(value):
            self._results.add(_text(name))
        elif not self._is_given(value):
            return False
        self._own.add(_text(name))
        return True

    def _is_given(self, node: Node) -> bool:
        """Return whether an expression is made of arguments and constants, in containers."""
        if node.type in _CONSTANTS or (node.type == "identifier" and _text(node) in self._own):
            return True
        if node.type in ("property_identifier", "shorthand_property_identifier"):
            return node.type == "property_identifier" or _text(node) in self._own
        if node.type == "unary_expression":
            return _text(node)[:1] == "-" and node.named_children[0].type == "number"
        if node.type in ("call_expression", "new_expression"):
            name = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            parts = node.child_by_field_name("arguments")
            return _text(name) in _MAKES and parts is not None and self._are_given(parts)
        return node.type in _CONTAINERS and self._are_given(node)

    def _are_given(self, node: Node) -> bool:
        return all(map(self._is_given, node.named_children))

    def _hands_out(self, node: Node) -> bool:
        """Return whether an expression is what the code gave, or has changed, or a part of it."""
        if node.type == "identifier":
            return _text(node) in self._results
        if node.type in ("await_expression", "parenthesized_expression"):
            return self._hands_out(node.named_children[0])
        if node.type == "member_expression":
            owner = node.child_by_field_name("object")
            return owner is not None and self._hands_out(owner)
        if node.type == "subscript_expression":
            owner, index = node.named_children[:2]
            return index.type in ("number", "string") and self._hands_out(owner)
        if node.type == "array":
            parts = node.named_children
            is_spread = len(parts) == 1 and parts[0].type == "spread_element"
            return is_spread and self._hands_out(parts[0].named_children[0])
        return node.type == "call_expression" and self._calls(node)

    def _calls(self, node: Node) -> bool:
        """Return whether a call is one of the code, or hands out what one gave."""
        name = _text(node.child_by_field_name("function"))
        parts = node.child_by_field_name("arguments")
        given = parts.named_children if parts else []
        if name in _HANDS_OUT:
            return len(given) == 1 and self._hands_out(given[0])
        if name not in self._of_code or not all(
            self._is_given(one) or self._hands_out(one) for one in given
        ):
            return False
        self._is_called = True
        self._results.update(_text(one) for one in given if one.type == "identifier")
        return True


def _text(node: Node | None) -> str:
    return (node.text or b"").decode(errors="replace") if node else ""
