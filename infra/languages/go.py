"""Go by tree-sitter's grammar."""

from collections.abc import Iterator
from typing import ClassVar

from tree_sitter import Node

from infra.languages import languages
from infra.languages._syntax_tree import Definition, SyntaxTreeLanguage, text_of


@languages.register("go")
class Go(SyntaxTreeLanguage):
    """Functions, and methods by the type of their receiver; CodeSearchNet leaves none out."""

    name = "go"
    title = "Go"
    suffixes = (".go",)
    grammar = ("tree_sitter_go", "language")
    calling: ClassVar = {"call_expression": "function"}
    functions = frozenset({"function_declaration", "method_declaration"})
    anonymous = frozenset({"func_literal"})

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
        """Return whether the header names a result."""
        return function.child_by_field_name("result") is not None
