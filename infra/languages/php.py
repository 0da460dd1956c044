"""PHP by tree-sitter's grammar."""

from collections.abc import Iterator
from typing import ClassVar

from tree_sitter import Node

from infra.languages import languages
from infra.syntax.syntax_tree import SyntaxTreeLanguage, text_of


@languages.register("php")
class Php(SyntaxTreeLanguage):
    """Functions and methods, in files with or without text around the code."""

    name = "php"
    title = "PHP"
    suffixes = (".php",)
    grammar = ("tree_sitter_php", "language_php")
    functions = frozenset({"function_definition", "method_declaration"})
    scopes = frozenset(
        {"class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"}
    )
    anonymous = frozenset({"anonymous_function", "arrow_function"})
    documenting = ("/**",)
    leading = frozenset({"php_tag", "text"})
    opening = "<?php "
    wrappers = (("class _ {", "\n}"),)
    calling: ClassVar = {
        "function_call_expression": "function",
        "member_call_expression": "name",
        "nullsafe_member_call_expression": "name",
        "scoped_call_expression": "name",
    }

    def is_special(self, name: str) -> bool:
        """Return True if it is a constructor or another magic method."""
        return name.rpartition(".")[2].startswith("__")

    def documentation_inside(self, function: Node) -> Node | None:
        """Return the last documentation before the name: PHP takes it behind attributes, too."""
        name = function.child_by_field_name("name")
        found = [
            part
            for part in function.children
            if part.type == "comment" and name and part.end_byte <= name.start_byte
            if text_of(part).startswith(self.documenting)
        ]
        return found[-1] if found else None

    def parameters_of(self, function: Node) -> Iterator[str]:
        """Yield the names without their dollar."""
        for parameter in super().parameters_of(function):
            yield parameter.removeprefix("$")
