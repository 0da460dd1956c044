"""Java by tree-sitter's grammar."""

from collections.abc import Iterator
from typing import ClassVar

from tree_sitter import Node

from infra.languages import languages
from infra.syntax.simplified_tree import Roles
from infra.syntax.syntax_tree import SyntaxTreeLanguage, text_of


@languages.register("java")
class Java(SyntaxTreeLanguage):
    """Methods with a body, and constructors, by their classes."""

    name = "java"
    title = "Java"
    suffixes = (".java",)
    grammar = ("tree_sitter_java", "language")
    calling: ClassVar = {"method_invocation": "name", "object_creation_expression": "type"}
    functions = frozenset(
        {"method_declaration", "constructor_declaration", "compact_constructor_declaration"}
    )
    scopes = frozenset(
        {
            "class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
            "annotation_type_declaration",
        }
    )  # fmt: skip
    anonymous = frozenset({"lambda_expression"})
    comments = frozenset({"line_comment", "block_comment"})
    documenting = ("/**",)
    special = frozenset(
        {"toString", "hashCode", "equals", "finalize", "notify", "notifyAll", "clone"}
    )
    wrappers = (("class _ {", "\n}"),)
    roles = Roles(
        declared=frozenset(
            {
                ("variable_declarator", "name"), ("formal_parameter", "name"),
                ("catch_formal_parameter", "name"), ("enhanced_for_statement", "name"),
                ("resource", "name"), ("instanceof_expression", "name"),
                ("lambda_expression", "parameters"), ("inferred_parameters", None),
            }
        ),
        members=frozenset(
            {
                ("method_invocation", "name"), ("field_access", "field"),
                ("method_declaration", "name"), ("constructor_declaration", "name"),
                ("class_declaration", "name"), ("marker_annotation", "name"),
                ("annotation", "name"), ("element_value_pair", "key"),
                ("labeled_statement", None), ("break_statement", None),
                ("continue_statement", None),
            }
        ),
        fields=frozenset({"field_declaration"}),
    )  # fmt: skip

    def is_generated(self, text: str) -> bool:
        """Return True if the head of a file says so, or the annotation of one of its types."""
        if super().is_generated(text):
            return True
        types = self.root_of(text).children if "@" in text and "Generated" in text else ()
        return any(
            part.type.endswith("annotation")
            and text_of(part.named_children[0]).endswith("Generated")
            for kind in types
            for modifiers in kind.children[:1]
            for part in modifiers.named_children
        )

    def parameters_of(self, function: Node) -> Iterator[str]:
        """Yield the names, that of several arguments behind its dots."""
        parameters = function.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters else ():
            if parameter.type == "spread_parameter":
                yield text_of(parameter.named_children[-1])
            elif name := parameter.child_by_field_name("name"):
                yield text_of(name)

    def returns_value(self, function: Node, *, has_return: bool) -> bool:  # noqa: ARG002
        """Return True if the header's type is another than ``void``."""
        result = function.child_by_field_name("type")
        return result is not None and result.type != "void_type"
