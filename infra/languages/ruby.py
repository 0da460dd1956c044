"""Ruby by tree-sitter's grammar."""

import re
from typing import ClassVar

from tree_sitter import Node

from infra.languages import languages
from infra.syntax.syntax_tree import Definition, SyntaxTreeLanguage, text_of

_ENCODING = re.compile(rb"\A(?:#![^\n]*\n)?[ \t]*#[^\n]*?coding\s*[:=]\s*([\w-]+)", re.IGNORECASE)
_UTF_8 = {"utf-8", "utf8", "ascii-8bit", "binary", "us-ascii", "ascii"}  # may be read as UTF-8
_NAMES = {"windows-31j": "cp932", "eucjp-ms": "euc-jp", "cp51932": "euc-jp"}  # Ruby's → Python's
_PROBE = rb"\n+-"  # which codecs with escapes of their own change


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

    def decoded(self, content: bytes) -> str:
        """Return a file's text in the encoding that its first line declares, behind ``#!``.

        Raises:
            UnicodeDecodeError: It is not in its encoding.
            SyntaxError: The encoding is unknown, or none that ASCII is a part of.
        """
        found = _ENCODING.match(content)
        name = re.sub("-(?:unix|dos|mac)$", "", found[1].decode().lower()) if found else "utf-8"
        if name in _UTF_8:
            return super().decoded(content)
        name = _NAMES.get(name, name)
        try:
            is_known = _PROBE.decode(name) == _PROBE.decode()
        except (LookupError, UnicodeError):
            is_known = False
        if not is_known:
            raise SyntaxError(f"{name} is no encoding of Ruby's files")
        return content.decode(name)

    def definition_of(self, node: Node) -> Definition | None:
        """Return a method, whose body may be empty."""
        name = node.child_by_field_name("name")
        return Definition(text_of(name), node) if name else None

    def returns_value(self, function: Node, *, has_return: bool) -> bool:
        """Return True if there is a body, the last value of which is returned."""
        return has_return or function.child_by_field_name("body") is not None
