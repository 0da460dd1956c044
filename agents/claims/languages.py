"""Runs of claims on code of each language, JavaScript and Go in full.

An adapter in these languages calls the code with a claim's arguments, in other containers at most,
and hands out what the code gave. A claim's values are written in the language (JavaScript) or in
JSON (Go, where they become what the adapter's parameters are declared as); one with values that
the language lacks is not run. Files are made and read by the program, in a folder of both
processes; the harness takes folder, variables and a program's arguments to that of the code. The
program rejects a value that the adapter makes where it is the expected one.
"""

import base64
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from importlib.resources import files
from itertools import takewhile
from typing import ClassVar, NamedTuple

from tree_sitter import Node

from agents.claims.adapter import NAME, CallAdapter, PlainCall
from agents.claims.claim import Claim
from agents.claims.literals import (
    UnknownValueError,
    call_of,
    has_fixtures,
    literal_eval,
    settings_in,
    surroundings_of,
)
from agents.claims.program import NOT_SAID, TEST
from infra.languages.go import Go
from infra.languages.javascript import JavaScript
from infra.languages.python import UNREADABLE, ast
from infra.syntax.syntax_tree import SyntaxTreeLanguage, text_of

_MOST_STATEMENTS = 8
_LARGEST = 2**53  # of whole numbers that are exact in JavaScript
_OF_MODULE = re.compile(r"\b(?:module\.)?exports\.(?=\w)|\bmodule\.(?=exports\b)")  # before names
_OPTIONAL = ("assignment_pattern", "rest_pattern")  # kinds of JavaScript's parameters
_FLOATS = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


class _AdapterChecker(ABC):
    """One adapter, followed from statement to statement."""

    language: ClassVar[type[SyntaxTreeLanguage]]
    parameters: ClassVar[frozenset[str]]  # kinds of their nodes
    constants: ClassVar[frozenset[str]]
    makes: ClassVar[frozenset[str]]  # what may be called to make an argument
    hands_on: ClassVar[frozenset[str]]  # what may be called on what the code gave
    getters: ClassVar[frozenset[str]] = frozenset()  # methods of it that may be called
    wrappers: ClassVar[frozenset[str]]  # kinds of what stands for the value in it
    parts: ClassVar[dict[str, str]]  # kind of a part of a value → the field with the value
    indices: ClassVar[frozenset[str]]  # kinds of what a part may be taken by

    def __init__(self, function: Node, code_names: Collection[str]) -> None:
        self._function = function
        self._code_names = code_names
        self._own = set(self.language().parameters_of(function))
        self._results: set[str] = set()  # names of what the code gave, or was given
        self._is_called = False

    def fault(self) -> str:
        """Return its fault, "" without one."""
        name, parameters, body = map(
            self._function.child_by_field_name, ("name", "parameters", "body")
        )
        kinds = {one.type for one in (parameters.named_children if parameters else ())}
        if name is None or text_of(name) != NAME or not kinds <= self.parameters:
            return f"it must be a function {NAME} with plain parameters"
        if taken := self._own & {*self._code_names, "claims", *self.makes}:
            return f"it gives {min(taken)} another meaning"
        statements = _statements(body) if body else []
        if not 0 < len(statements) <= _MOST_STATEMENTS:
            return f"{NAME} has at most {_MOST_STATEMENTS} statements"
        *before, last = statements
        for statement in before:
            if not self._check_statement(statement):
                return f"line {statement.start_point.row + 1} is more than a call"
        if not self._is_valid_return(last):
            return f"line {last.start_point.row + 1} returns more than what the code gave"
        return "" if self._is_called else "it does not call the code under test"

    @abstractmethod
    def _is_valid_return(self, last: Node) -> bool:
        """Return True if a statement may end the adapter."""

    @abstractmethod
    def _declaration(self, statement: Node) -> tuple[set[str], list[Node]]:
        """Return names and values of a declaration, no value where it is none."""

    @abstractmethod
    def _is_argument(self, node: Node) -> bool:
        """Return True if an expression is made of arguments and constants, in containers."""

    def _is_result(self, node: Node) -> bool:
        """Return True if an expression is what the code gave, or has changed, or a part of it."""
        if node.type == "identifier":
            return text_of(node) in self._results
        if node.type in self.wrappers:  # without arithmetic
            return text_of(node)[:1] not in "-+!^<" and self._is_result(node.named_children[0])
        if node.type in self.parts:
            owner, index = map(node.child_by_field_name, (self.parts[node.type], "index"))
            is_plain = index is None or index.type in self.indices
            return is_plain and owner is not None and self._is_result(owner)
        return node.type == "call_expression" and self._calls(node)

    def _check_statement(self, statement: Node) -> bool:
        """Take over what a statement names; return whether it may stand there."""
        if statement.type == "expression_statement":
            return self._is_result(statement.named_children[0])
        names, values = self._declaration(statement)
        if not values or names & {*self._own, *self._code_names, "claims", *self.makes}:
            return False
        if all(map(self._is_result, values)):
            self._results |= names
        elif not all(map(self._is_argument, values)):
            return False
        self._own |= names
        return True

    def _calls(self, node: Node) -> bool:
        """Return True if a call hands out what one gave, or is one of the code, which is noted."""
        function, arguments = map(node.child_by_field_name, ("function", "arguments"))
        if function is None or arguments is None:
            return False
        name, given = _OF_MODULE.sub("", text_of(function)), arguments.named_children
        owner = function.child_by_field_name("operand")  # in Go
        if owner is None and name in self.hands_on:
            return len(given) == 1 and self._is_result(given[0])
        name = name.rpartition(".")[2] if owner else name
        if owner and name in self.getters and self._is_result(owner):
            return not given
        if name not in self._code_names:
            return False
        given = [owner, *given] if owner else given
        if not all(self._is_argument(one) or self._is_result(one) for one in given):
            return False
        self._is_called = True
        names = (one.named_children[0] if one.type == "unary_expression" else one for one in given)
        self._results.update(text_of(one) for one in names if one.type == "identifier")
        return True


def _statements(body: Node) -> list[Node]:
    """Return the statements of a block, which some releases of the grammar put into a list."""
    found = [one for one in body.named_children if one.type != "comment"]
    return _statements(found[0]) if [one.type for one in found] == ["statement_list"] else found


class _JavaScriptChecker(_AdapterChecker):
    language = JavaScript
    parameters = frozenset({"identifier"})
    constants = frozenset({"number", "string", "true", "false", "null", "undefined"})
    hands_on = frozenset({"Array.from", "Object.entries", "Object.fromEntries"})
    makes = frozenset({"Map", "Set", "Date"}) | hands_on
    containers = frozenset({
        "array", "object", "pair", "spread_element", "parenthesized_expression",
    })  # fmt: skip
    wrappers = frozenset({"await_expression", "parenthesized_expression"})
    parts: ClassVar = {"member_expression": "object", "subscript_expression": "object"}
    indices = frozenset({"number", "string"})

    def _is_valid_return(self, last: Node) -> bool:
        values = last.named_children[:1]
        return last.type == "return_statement" and bool(values) and self._is_result(values[0])

    def _declaration(self, statement: Node) -> tuple[set[str], list[Node]]:
        if statement.type != "lexical_declaration" or statement.named_child_count != 1:
            return set(), []
        name, value = map(statement.named_children[0].child_by_field_name, ("name", "value"))
        if name is None or value is None or name.type != "identifier":
            return set(), []
        return {text_of(name)}, [value]

    def _is_argument(self, node: Node) -> bool:
        kind, text = node.type, text_of(node)
        if kind in ("identifier", "shorthand_property_identifier"):
            return text in self._own
        if kind == "unary_expression":
            return text[:1] == "-" and node.named_children[0].type == "number"
        if kind in ("call_expression", "new_expression"):
            name = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            parts = node.child_by_field_name("arguments")
            is_made = name is not None and text_of(name) in self.makes and parts is not None
            return is_made and all(map(self._is_argument, parts.named_children if parts else ()))
        if kind in self.constants or kind == "property_identifier":
            return True
        return kind in self.containers and all(map(self._is_argument, node.named_children))

    def _is_result(self, node: Node) -> bool:
        parts = node.named_children
        if node.type == "array" and [part.type for part in parts] == ["spread_element"]:
            return self._is_result(parts[0].named_children[0])
        return super()._is_result(node)


class _GoChecker(_AdapterChecker):
    language = Go
    parameters = frozenset({"parameter_declaration", "variadic_parameter_declaration", "comment"})
    constants = frozenset({
        "int_literal", "float_literal", "interpreted_string_literal", "raw_string_literal",
        "rune_literal", "true", "false", "nil",
    })  # fmt: skip
    makes = frozenset({
        "len", "strings.NewReader", "bytes.NewReader", "bytes.NewBufferString",
        "context.Background", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint32",
        "uint64", "float32", "float64", "rune", "byte", "string",
    })  # fmt: skip
    hands_on = frozenset({"string", "int", "float64"})
    getters = frozenset({"String", "Bytes"})  # of buffers and the like
    wrappers = frozenset({"parenthesized_expression", "unary_expression"})
    parts: ClassVar = dict.fromkeys(
        ("selector_expression", "index_expression", "type_conversion_expression"), "operand"
    )
    indices = constants
    # What is made of its parts → the field with them, "" for all; whether it is a container.
    made_of: ClassVar[dict[str, tuple[str, bool]]] = {
        "unary_expression": ("operand", False),
        "composite_literal": ("body", True),
        "type_conversion_expression": ("operand", False),
        "literal_value": ("", True),
        "literal_element": ("", True),
        "keyed_element": ("", True),
        "parenthesized_expression": ("", False),
    }

    def _is_valid_return(self, last: Node) -> bool:
        if last.type == "expression_statement":
            return self._check_statement(last)
        values = last.named_children[0].named_children if last.named_child_count else []
        return (
            last.type == "return_statement" and bool(values) and all(map(self._is_result, values))
        )

    def _declaration(self, statement: Node) -> tuple[set[str], list[Node]]:
        left, right = map(statement.child_by_field_name, ("left", "right"))
        if statement.type != "short_var_declaration" or left is None or right is None:
            return set(), []
        return set(map(text_of, left.named_children)), right.named_children

    def _is_argument(self, node: Node, *, in_parts: bool = False) -> bool:
        """Constants are none of a container's parts, so that none makes the expected value."""
        kind, text = node.type, text_of(node)
        if kind in self.constants:
            return not in_parts
        if kind == "identifier":
            return text in self._own
        if kind == "call_expression":
            function, parts = map(node.child_by_field_name, ("function", "arguments"))
            name = text_of(function or node)
            is_made = name in self.makes and parts is not None
            return name == "new" or (
                is_made and all(map(self._is_argument, parts.named_children if parts else ()))
            )
        if kind not in self.made_of or (kind == "unary_expression" and text[:1] not in "-&"):
            return False
        field, is_container = self.made_of[kind]
        parts_of_it = [node.child_by_field_name(field)] if field else node.named_children
        if kind == "keyed_element":  # a field and its value
            parts_of_it = parts_of_it[-1:]
        in_parts = in_parts or is_container
        return all(part and self._is_argument(part, in_parts=in_parts) for part in parts_of_it)


class SyntaxTreeCalls(CallAdapter):
    """Claims on code of a language that is read by tree-sitter."""

    adapter: ClassVar[type[_AdapterChecker]]
    test: ClassVar[str]  # with its name and its statement
    failure: ClassVar[str]  # a statement that ends a test by an error, with its message

    def adapter_fault(self, text: str, code: str) -> str:
        """Return why lines are no adapter for a code, "" where they are one."""
        language = self.adapter.language()
        try:
            root = language.root_of(text)
        except SyntaxError:
            return "it cannot be read"
        functions = [node for node in root.named_children if node.type != "comment"]
        if root.has_error or [node.type for node in functions] != ["function_declaration"]:
            return f"it must be one function, {NAME}, of {language.title}"
        return self.adapter(functions[0], language.called_names(code)).fault()

    def plain_call(self, code: str) -> PlainCall | None:
        """Return the plain call of a code's only function, None where it needs more."""
        language = self.adapter.language()
        try:
            statements = language.root_of(code).named_children
        except SyntaxError:
            return None
        defined = (map(language.definition_of, (node, *node.named_children)) for node in statements)
        functions = [found for of_node in defined if (found := next(filter(None, of_node), None))]
        name = functions[0].name.rpartition(".")[2] if len(functions) == 1 else NAME
        if name not in language.called_names(code) - {NAME}:
            return None
        taken = functions[0].node.child_by_field_name("parameters")
        parameters = [
            one for one in (taken.named_children if taken else ()) if one.type != "comment"
        ]
        return self._plain_call(name, functions[0].node, parameters)

    def claims_program(
        self,
        claims: Sequence[Claim],
        adapter: str,
        code: str,
        stubs: Collection[str] = (),  # noqa: ARG002 - no test asks who raised
    ) -> str:
        """Return the program with one test for each claim."""
        title, lines = self.adapter.language.title, [self._head(adapter, code)]
        makes = any(one.demand.effect == "writes" or has_fixtures(one.arguments) for one in claims)
        for number, claim in enumerate(claims, 1):
            try:
                line = self._call(decode_claim(claim, makes=makes))
            except (*UNREADABLE, ValueError, TypeError, ArithmeticError) as error:
                message = f"{NOT_SAID}{title}: {error}"[:200]
                line = self.failure.format(json.dumps(message, ensure_ascii=False))
            lines.append(self.test.format(f"{TEST}{number}", line))
        return "\n".join(lines)

    @abstractmethod
    def _plain_call(self, name: str, function: Node, parameters: list[Node]) -> PlainCall | None:
        """Return `plain_call` of a function."""

    @abstractmethod
    def render_literal(self, value: object) -> str:
        """Return a value of Python in the language; raise `UnknownValueError` if it has none."""

    @abstractmethod
    def _head(self, adapter: str, code: str) -> str:
        """Return the lines before the tests."""

    @abstractmethod
    def _call(self, parts: "DecodedClaim") -> str:
        """Return the statement that tests a claim."""


class JavaScriptCalls(SyntaxTreeCalls):
    """Claims on code in JavaScript."""

    adapter = _JavaScriptChecker
    test = "function {}() {{\n  {}\n}}"
    failure = "throw new Error({});"

    def _plain_call(self, name: str, function: Node, parameters: list[Node]) -> PlainCall:
        kinds = [one.type for one in parameters]
        if function.child_by_field_name("parameter"):  # an arrow's, without parentheses
            kinds = ["identifier"]
        fewest = len([*takewhile(lambda kind: kind not in _OPTIONAL, kinds)])
        most = math.inf if "rest_pattern" in kinds else len(kinds)
        text = f"function {NAME}(...values) {{\n  return {name}(...values);\n}}"
        return PlainCall(text, fewest, most)

    def render_literal(self, value: object) -> str:
        """Return an expression; dictionaries have texts as keys."""
        if value is None or isinstance(value, bool | str):
            return json.dumps(value)
        if isinstance(value, int) and abs(value) < _LARGEST:
            return f"({value})"
        if isinstance(value, float):
            return f"({_FLOATS.get(repr(value), repr(value))})"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.render_literal, value))}]"
        if isinstance(value, set | frozenset):
            return f"new Set([{', '.join(map(self.render_literal, value))}])"
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            items = (
                f"[{json.dumps(key)}]: {self.render_literal(item)}" for key, item in value.items()
            )
            return f"{{ {', '.join(items)} }}"
        raise UnknownValueError(f"{type(value).__name__} is not said in JavaScript")

    def _head(self, adapter: str, code: str) -> str:
        names = sorted(JavaScript().called_names(code))
        called = "\n".join(f"const {name} = claims.called({json.dumps(name)});" for name in names)
        own = _OF_MODULE.sub("", adapter)
        made = f"claims.adapter = (() => {{\n{called}\n{own}\nreturn {NAME};\n}})();"
        return f"{_helpers('javascript.js')}\n{made}"

    def _call(self, parts: "DecodedClaim") -> str:
        values = (parts.arguments, parts.value, parts.way)
        given = ", ".join(map(self.render_literal, values))
        around = self.render_literal(parts.surroundings)
        begin = f"claims.begin({around});\n  " * bool(parts.surroundings)
        return f"{begin}return claims.{parts.kind}({given});"


class GoCalls(SyntaxTreeCalls):
    """Claims on code in Go."""

    adapter = _GoChecker
    test = "func {}(t *testing.T) {{\n\t{}\n}}"
    failure = "panic({})"

    def _plain_call(self, name: str, function: Node, parameters: list[Node]) -> PlainCall | None:
        """A variadic function is given a list for its last parameter."""
        if function.child_by_field_name("receiver") or function.child_by_field_name(
            "type_parameters"
        ):
            return None
        kinds: list[str] = []
        for one in parameters:
            number = max(1, len(one.children_by_field_name("name")))
            is_variadic = one.type == "variadic_parameter_declaration"
            kind = text_of(one.child_by_field_name("type") or one)
            kinds += [f"[]{kind}" if is_variadic else kind] * number
        names = [f"value{number}" for number in range(1, 1 + len(kinds))]
        takes = ", ".join(map("{} {}".format, names, kinds))
        spread = "..." * bool(parameters and is_variadic)
        result = function.child_by_field_name("result")
        gives, back = (f"{text_of(result)} ", "return ") if result else ("", "")
        call = f"{back}{name}({', '.join(names)}{spread})"
        return PlainCall(f"func {NAME}({takes}) {gives}{{\n\t{call}\n}}", len(names), len(names))

    def render_literal(self, value: object) -> str:
        """Return a literal text of JSON, with dictionaries and sets as `go.go` reads them."""
        return json.dumps(json.dumps(_plain(value)), ensure_ascii=False)

    def _head(self, adapter: str, code: str) -> str:  # noqa: ARG002 - its names are the program's
        return f"{adapter}\n{_helpers('go.go')}"

    def _call(self, parts: "DecodedClaim") -> str:
        given = ", ".join(map(self.render_literal, (parts.arguments, parts.value)))
        around = self.render_literal(parts.surroundings)
        begin = f"claimsBegin({around})\n\t" * bool(parts.surroundings)
        return f"{begin}claims{parts.kind.capitalize()}(t, {given}, {json.dumps(parts.way)})"


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, list | tuple):
        return [*map(_plain, value)]
    if isinstance(value, set | frozenset):
        return {"set": [*map(_plain, value)]}
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(item)] for key, item in value.items()]}
    raise UnknownValueError(f"{type(value).__name__} is not said in Go")


def _helpers(name: str) -> str:
    return files("agents.claims").joinpath(name).read_text("utf-8")


class DecodedClaim(NamedTuple):
    """A claim in values.

    Of files that must be written the value is a list of path, content and whether that is a text.
    """

    kind: str  # gives, raises, prints or writes
    arguments: list[object]
    value: object
    way: str  # of `Demand`; of what is printed words or lines, too
    surroundings: list[object]  # files, variables and a program's arguments; [] where none count


def decode_claim(claim: Claim, *, makes: bool) -> DecodedClaim:
    """Return a claim in values, with its surroundings where it or another claim makes some.

    Raises:
        UnknownValueError: It has named arguments, or is about attributes.
    """
    _, arguments = settings_in(claim.arguments)
    call = call_of(arguments)
    if call is None or call.keywords:
        raise UnknownValueError("named arguments")
    given = [literal_eval(ast.unparse(one)) for one in call.args]
    around: list[object] = []
    if makes:
        files, times, variables, words = surroundings_of(claim.arguments)
        made = [[path, _to_base64(content), times.get(path)] for path, content in files.items()]
        around = [made, [*map(list, variables.items())], words or ["program"]]
    if claim.error_type:
        return DecodedClaim("raises", given, claim.error_type, "", around)
    effect, way, wanted = claim.demand
    value = literal_eval(wanted)
    value = [*value] if way and isinstance(value, set | tuple) else value
    if effect == "leaves":
        raise UnknownValueError(effect)
    if effect == "writes":
        assert isinstance(value, dict)  # noqa: S101 - `is_value` says so
        wanted_files = [
            [name, _to_base64(one), isinstance(one, str)] for name, one in value.items()
        ]
        return DecodedClaim(effect, given, wanted_files, "", around)
    if effect:
        way = way or effect.partition(" ")[2] or "words"
    return DecodedClaim("prints" if effect else "gives", given, value, way, around)


def _to_base64(content: object) -> str | None:
    """Return a file's content in base64, None where there is none."""
    data = content.encode() if isinstance(content, str) else content
    return base64.b64encode(data).decode() if isinstance(data, bytes) else None
