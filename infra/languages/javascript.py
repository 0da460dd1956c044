"""JavaScript by tree-sitter's grammar."""

import re
from collections.abc import Iterator
from typing import ClassVar

from tree_sitter import Node

from infra.languages import languages
from infra.languages._syntax_tree import Definition, SyntaxTreeLanguage, text_of

_FUNCTIONS = frozenset({"function_expression", "arrow_function", "generator_function", "function"})
_NAME = re.compile(r"""(?:(?P<owner>[\w$.]+)\.)?['"]?(?P<last>[\w$#]+)['"]?""")
_AROUND = frozenset({"assignment_expression", "parenthesized_expression"})
_STATEMENTS = frozenset({"lexical_declaration", "variable_declaration", "expression_statement"})


@languages.register("javascript")
class JavaScript(SyntaxTreeLanguage):
    """Functions, methods, and functions that get a name by what they are assigned to."""

    name = "javascript"
    title = "JavaScript"
    suffixes = (".js", ".mjs", ".cjs", ".jsx")
    grammar = ("tree_sitter_javascript", "language")
    assigned: ClassVar = {  # kind → the fields with name and function
        "variable_declarator": ("name", "value"),
        "assignment_expression": ("left", "right"),
        "pair": ("key", "value"),
        "field_definition": ("property", "value"),
    }
    functions = (
        frozenset({"function_declaration", "generator_function_declaration", "method_definition"})
        | _STATEMENTS
        | assigned.keys()
    )
    scopes = frozenset({"class_declaration", "class"})
    anonymous = _FUNCTIONS
    special = frozenset({"toString", "toLocaleString", "valueOf", "constructor"})
    wrappers = (("class _ {", "\n}"), ("({", "\n})"), ("(", "\n)"))

    def definition_of(self, node: Node) -> Definition | None:
        """Return a function that is declared, or the one that is assigned to a name.

        A statement that assigns one function is its text, with ``const`` or ``exports.``.
        """
        if node.type not in _STATEMENTS and node.type not in self.assigned:
            definition = super().definition_of(node)
            return definition if definition and _NAME.fullmatch(definition.name) else None
        if node.type in _STATEMENTS:
            if node.named_child_count != 1 or node.named_children[0].type not in self.assigned:
                return None
            node = node.named_children[0]
        fields = self.assigned[node.type]
        name, value = map(node.child_by_field_name, fields)
        while value is not None and value.type in _AROUND:
            value = value.named_children[-1] if value.named_children else None
        if name is None or value is None or value.type not in _FUNCTIONS:
            return None
        found = _NAME.fullmatch(text_of(name))
        return Definition(found["last"], value, found["owner"] or "") if found else None

    def parameters_of(self, function: Node) -> Iterator[str]:
        """Yield the names; a pattern that takes an argument apart stands as it is."""
        if single := function.child_by_field_name("parameter"):
            yield text_of(single)
        for parameter in super().parameters_of(function):
            yield parameter.removeprefix("...").partition("=")[0].strip()

    def returns_value(self, function: Node, *, has_return: bool) -> bool:
        """Return whether it has a ``return`` with a value, or is an arrow before a value."""
        body = function.child_by_field_name("body")
        is_value = body is not None and body.type != "statement_block"
        return has_return or (is_value and function.type == "arrow_function")
