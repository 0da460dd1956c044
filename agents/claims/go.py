"""Claims on code in Go: an adapter in that language, and the program that runs them.

A claim's arguments and values are said in JSON, and become what the adapter's parameters are
declared as: so an example's list is a slice of the adapter's choice. What differs from JavaScript's
adapters is that types are named, that several values are returned, and that an error which comes
last is what the code raised.
"""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files

from tree_sitter import Node

from agents.claims.adapter import NAME
from agents.claims.claim import Claim
from agents.claims.javascript import parts_of
from agents.claims.program import TEST
from agents.claims.spelling import UnknownValueError
from infra.languages._programs import UNREADABLE
from infra.languages._syntax_tree import text_of
from infra.languages.go import Go

_MOST_STATEMENTS = 8
_CONSTANTS = {
    "int_literal", "float_literal", "interpreted_string_literal", "raw_string_literal",
    "rune_literal", "true", "false", "nil",
}  # fmt: skip
# What is made of its parts → the field with them, "" for all; whether it is a container.
_PARTS = {
    "unary_expression": ("operand", False),
    "composite_literal": ("body", True),
    "type_conversion_expression": ("operand", False),
    "literal_value": ("", True),
    "literal_element": ("", True),
    "keyed_element": ("", True),
    "parenthesized_expression": ("", False),
}
_MAKES = {
    "len", "strings.NewReader", "bytes.NewReader", "bytes.NewBufferString", "context.Background",
    "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint32", "uint64", "float32",
    "float64", "rune", "byte", "string",
}  # fmt: skip
_HANDS_OUT = {"string", "int", "float64"}
_GETTERS = {"String", "Bytes"}  # methods of buffers and the like that hand out what is in them


def adapter_fault(text: str, code: str) -> str:
    """Return why lines are no adapter for a code, "" where they are one.

    Args:
        text: A function ``answer``.
        code: The code under test.
    """
    language = Go()
    try:
        root = language.root_of(text)
    except SyntaxError:
        return "it cannot be read"
    functions = [node for node in root.named_children if node.type != "comment"]
    if root.has_error or [node.type for node in functions] != ["function_declaration"]:
        return f"it must be one function, {NAME}, of Go"
    return _Adapter(functions[0], language.called_names(code)).fault()


def claims_program(
    claims: Sequence[Claim],
    adapter: str,
    code: str,  # noqa: ARG001 - its names are the program's
    beside: Collection[str] = (),  # noqa: ARG001 - nothing stands beside code in Go
) -> str:
    """Return the program with one test for each claim.

    Args:
        claims: The claims, in the order of the tests.
        adapter: A checked adapter.
        code: The code under test, or its module.
        beside: Nothing.
    """
    helpers = files("agents.claims").joinpath("go.go").read_text("utf-8")
    return "\n".join((adapter, helpers, *_tests(claims)))


def said(value: object) -> str:
    """Return a value of Python in JSON, with dictionaries and sets as `go.go` reads them.

    Raises:
        UnknownValueError: It has none.
    """

    def plain(part: object) -> object:
        if part is None or isinstance(part, bool | int | str):
            return part
        if isinstance(part, float) and math.isfinite(part):
            return part
        if isinstance(part, list | tuple):
            return [*map(plain, part)]
        if isinstance(part, set | frozenset):
            return {"set": [*map(plain, part)]}
        if isinstance(part, dict):
            return {"dict": [[plain(key), plain(item)] for key, item in part.items()]}
        raise UnknownValueError(f"{type(part).__name__} is not said in Go")

    return json.dumps(json.dumps(plain(value)), ensure_ascii=False)


def _tests(claims: Sequence[Claim]) -> Iterator[str]:
    for number, claim in enumerate(claims, 1):
        try:
            line = _call(claim)
        except (*UNREADABLE, ValueError, TypeError, ArithmeticError) as error:
            line = f"panic({json.dumps(f'not said in Go: {error}'[:200], ensure_ascii=False)})"
        yield f"func {TEST}{number}(t *testing.T) {{\n\t{line}\n}}"


def _call(claim: Claim) -> str:
    kind, arguments, value = parts_of(claim)
    if kind == "raises":
        return f"claimsRaises(t, {said(arguments)})"
    if kind == "gives":
        return f"claimsGives(t, {said(arguments)}, {said(value)})"
    by_lines = json.dumps(kind == "prints lines")
    return f"claimsPrints(t, {said(arguments)}, {said(value)}, {by_lines})"


class _Adapter:
    """One adapter, followed from statement to statement.

    Args:
        function: Its declaration.
        of_code: Names of the code's functions and methods.
    """

    def __init__(self, function: Node, of_code: Collection[str]) -> None:
        self._function = function
        self._of_code = of_code
        self._own = set(Go().parameters_of(function))
        self._results: set[str] = set()  # names of what the code gave, or was given
        self._is_called = False

    def fault(self) -> str:
        """Return what is wrong with it, "" for nothing."""
        body = self._function.child_by_field_name("body")
        statements = _statements(body) if body else []
        if text_of(self._function.children_by_field_name("name")[0]) != NAME:
            return f"it must be a function {NAME}"
        if taken := self._own & {*self._of_code, *_MAKES, "claims"}:
            return f"it gives {min(taken)} another meaning"
        if not 0 < len(statements) <= _MOST_STATEMENTS:
            return f"{NAME} has at most {_MOST_STATEMENTS} statements"
        *before, last = statements
        for statement in before:
            if not self._follows(statement):
                return f"line {statement.start_point.row + 1} is more than a call"
        is_call = last.type == "expression_statement" and self._follows(last)
        values = last.named_children[0].named_children if last.named_child_count else []
        hands_out = last.type == "return_statement" and all(map(self._hands_out, values))
        if not is_call and not (values and hands_out):
            return f"line {last.start_point.row + 1} returns more than what the code gave"
        return "" if self._is_called else "it does not call the code under test"

    def _follows(self, statement: Node) -> bool:
        """Take over what a statement names; return whether it may stand there."""
        if statement.type == "expression_statement":
            return self._hands_out(statement.named_children[0])
        if statement.type != "short_var_declaration":
            return False
        left, right = (statement.child_by_field_name(name) for name in ("left", "right"))
        names = {text_of(name) for name in left.named_children} if left else set()
        if right is None or names & {*self._own, *self._of_code, *_MAKES}:
            return False
        if all(map(self._hands_out, right.named_children)):
            self._results |= names
        elif not self._are_given(right):
            return False
        self._own |= names
        return True

    def _is_given(self, node: Node, *, in_parts: bool = False) -> bool:
        """Return whether an expression is made of arguments, in containers, and of constants.

        Constants are none of a container's parts, so that none makes the value that is demanded.
        """
        kind, text = node.type, text_of(node)
        if kind in _CONSTANTS:
            return not in_parts
        if kind == "identifier":
            return text in self._own
        if kind == "call_expression":
            return self._makes(node)
        if kind not in _PARTS or (kind == "unary_expression" and text[:1] not in "-&"):
            return False
        field, is_container = _PARTS[kind]
        parts = [node.child_by_field_name(field)] if field else node.named_children
        if kind == "keyed_element":  # a field and its value
            parts = parts[-1:]
        in_parts = in_parts or is_container
        return all(part and self._is_given(part, in_parts=in_parts) for part in parts)

    def _makes(self, node: Node) -> bool:
        """Return whether a call makes a value of a type, or of what is given."""
        name = text_of(node.child_by_field_name("function") or node)
        parts = node.child_by_field_name("arguments")
        is_made = name in _MAKES and parts is not None and self._are_given(parts)
        return name == "new" or is_made

    def _are_given(self, node: Node) -> bool:
        return all(map(self._is_given, node.named_children))

    def _hands_out(self, node: Node) -> bool:
        """Return whether an expression is what the code gave, or has changed, or a part of it."""
        if node.type == "identifier":
            return text_of(node) in self._results
        if node.type in ("parenthesized_expression", "unary_expression"):
            is_plain = text_of(node)[:1] in "(*&"
            return is_plain and self._hands_out(node.named_children[0])
        if node.type in ("selector_expression", "index_expression", "type_conversion_expression"):
            operand = node.child_by_field_name("operand")
            index = node.child_by_field_name("index")
            is_constant = index is None or index.type in _CONSTANTS
            return is_constant and operand is not None and self._hands_out(operand)
        return node.type == "call_expression" and self._calls(node)

    def _calls(self, node: Node) -> bool:
        """Return whether a call is one of the code, or hands out what one gave."""
        function = node.child_by_field_name("function")
        parts = node.child_by_field_name("arguments")
        if function is None or parts is None:
            return False
        name, given = text_of(function), parts.named_children
        owner = function.child_by_field_name("operand")
        if owner is None:
            if name in _HANDS_OUT:
                return len(given) == 1 and self._hands_out(given[0])
            return name in self._of_code and self._takes(given)
        name = name.rpartition(".")[2]
        if name in _GETTERS and self._hands_out(owner):
            return not given
        return name in self._of_code and self._takes([owner, *given])

    def _takes(self, given: Sequence[Node]) -> bool:
        """Note a call of the code; return whether it is given what it may be given."""
        if not all(self._is_given(one) or self._hands_out(one) for one in given):
            return False
        self._is_called = True
        names = (one.named_children[0] if one.type == "unary_expression" else one for one in given)
        self._results.update(text_of(one) for one in names if one.type == "identifier")
        return True


def _statements(body: Node) -> list[Node]:
    """Return the statements of a block, which some releases of the grammar put into a list."""
    found = [one for one in body.named_children if one.type != "comment"]
    if [one.type for one in found] == ["statement_list"]:
        return _statements(found[0])
    return found
