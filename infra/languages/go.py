"""Go by tree-sitter's grammar.

A box runs functions and methods; it adds the package and the standard imports that a piece of code
lacks (`sandbox/inside/go`).
"""

import json
import re
from collections.abc import Iterator
from typing import ClassVar

from tree_sitter import Node

from infra.languages import languages
from infra.syntax.mutation import Kinds
from infra.syntax.syntax_tree import Definition, SyntaxTreeLanguage, text_of

_FUNCTIONS = {"function_declaration", "method_declaration", "func_literal"}
_NOTHING = {"nil", "0", '""', "false"}
_NO_CONTAINER = re.compile(r"(?:u?int|float|complex)\d*|bool|error|byte|rune")


def _zeros(statement: Node) -> str:
    """Return a return statement with the zero values of its function's results."""
    function = statement.parent
    while function is not None and function.type not in _FUNCTIONS:
        function = function.parent
    result = function.child_by_field_name("result") if function else None
    values = statement.named_children[0].named_children
    if result is None or all(text_of(value) in _NOTHING for value in values):
        return ""
    return f"return {', '.join(f'*new({kind})' for _, kind in _results(result))}"


def _results(result: Node) -> list[tuple[str, str]]:
    """Return the names and types of results, "" for those without a name."""
    if result.type != "parameter_list":
        return [("", text_of(result))]
    return [
        (name, text_of(kind))
        for one in result.named_children
        for name in [*map(text_of, one.children_by_field_name("name"))] or [""]
        if (kind := one.child_by_field_name("type"))
    ]


_MUTATED = Kinds(
    operations=frozenset(
        {"binary_expression", "assignment_statement", "inc_statement", "dec_statement"}
    ),
    numbers=frozenset({"int_literal", "float_literal"}),
    texts={"interpreted_string_literal": '""', "raw_string_literal": '""'},
    words=frozenset({"true", "false", "break_statement", "continue_statement"}),
    conditions={"if_statement": "condition"},
    returns={"return_statement": _zeros},
    statements=frozenset({"expression_statement", "assignment_statement", "inc_statement"}),
    silent=frozenset({"comment", "import_declaration", "type_declaration"}),
    silent_calls=("panic(", "fmt.Print", "fmt.Errorf(", "errors.New(", "log."),
)


@languages.register("go")
class Go(SyntaxTreeLanguage):
    """Functions, and methods by the type of their receiver; CodeSearchNet leaves none out."""

    name = "go"
    title = "Go"
    is_executed = True
    suffixes = (".go",)
    grammar = ("tree_sitter_go", "language")
    calling: ClassVar = {"call_expression": "function"}
    mutated = _MUTATED
    stop = "os.Exit(1);"
    functions = frozenset({"function_declaration", "method_declaration"})
    anonymous = frozenset({"func_literal"})
    generated = re.compile(r"// Code generated .* DO NOT EDIT\.$")

    def definition_of(self, node: Node) -> Definition | None:
        """Return a function with a body; the owner of a method is its receiver's type."""
        definition = super().definition_of(node)
        receiver = node.child_by_field_name("receiver")
        if definition is None or receiver is None or not receiver.named_children:
            return definition
        named = receiver.named_children[0].child_by_field_name("type")
        while named is not None and named.type != "type_identifier":
            named = named.child_by_field_name("type") or next(iter(named.named_children), None)
        return definition._replace(owner=text_of(named) if named else "")

    def parameters_of(self, function: Node) -> Iterator[str]:
        """Yield all names, of which several may share a type."""
        parameters = function.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters else ():
            yield from map(text_of, parameter.children_by_field_name("name"))

    def returns_value(self, function: Node, *, has_return: bool) -> bool:  # noqa: ARG002
        """Return True if the header names a result."""
        return function.child_by_field_name("result") is not None

    def returning(self, code: str, way: str, *, tells: bool) -> str:
        """Return code whose functions return otherwise; "" where none returns a container."""
        source = code.encode(errors="replace")
        edits: list[tuple[int, int, str]] = []
        for node in self.root_of(code).named_children:
            result, body = map(node.child_by_field_name, ("result", "body"))
            if node.type not in self.functions or result is None or body is None:
                continue
            results = [
                (name if name.strip("_") else f"cosqa_{place}", kind)
                for place, (name, kind) in enumerate(_results(result))
            ]
            if all(_NO_CONTAINER.fullmatch(kind) for _, kind in results):
                continue
            named = ", ".join(f"{name} {kind}" for name, kind in results)
            given = ", ".join([json.dumps(way), json.dumps(tells), *(f"&{n}" for n, _ in results)])
            start = body.start_byte + 1
            edits += [
                (result.start_byte, result.end_byte, f"({named})"),
                (start, start, f" defer cosqa_returned({given})();"),
            ]
        for start, end, text in reversed(edits):
            source = source[:start] + text.encode() + source[end:]
        return source.decode(errors="replace") + self.returned if edits else ""
