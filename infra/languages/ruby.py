"""Ruby by tree-sitter's grammar."""

from typing import ClassVar

from tree_sitter import Node

from infra.languages import languages
from infra.languages._syntax_tree import Definition, SyntaxTreeLanguage, text_of


@languages.register("ruby")
class Ruby(SyntaxTreeLanguage):
    """Methods by their modules and classes."""

    name = "ruby"
    title = "Ruby"
    suffixes = (".rb",)
    grammar = ("tree_sitter_ruby", "language")
    calling: ClassVar = {"call": "method"}
    functions = frozenset({"method", "singleton_method"})
    scopes = frozenset({"module", "class", "singleton_class"})
    anonymous = frozenset({"lambda"})
    returns = frozenset({"return"})
    special = frozenset(
        {
            "initialize", "to_text", "display", "dup", "clone",
            "==", "===", "<=>", "<", "<=", ">", ">=", "!=", "eql?", "equal?", "between?",
        }
    )  # fmt: skip

    def definition_of(self, node: Node) -> Definition | None:
        """Return a method, whose body may be empty."""
        name = node.child_by_field_name("name")
        return Definition(text_of(name), node) if name else None

    def returns_value(self, function: Node, *, has_return: bool) -> bool:
        """Return whether there is a body, the last value of which is returned."""
        return has_return or function.child_by_field_name("body") is not None
