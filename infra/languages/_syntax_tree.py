"""Languages that are read by tree-sitter: one walk over a syntax tree finds what is asked of it.

Nothing here recurs, so that deep nesting costs no stack. The grammars' own queries would need less
text, but they take minutes on trees of 100,000 levels, such as damaged files give.
"""

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Tree, TreeCursor

from infra.languages import Function, Language, plain_lines
from infra.languages._simplified_tree import Leaf, Roles, simplified

_DEEPEST = 1_000  # levels of a syntax tree
_MOST_STEPS = 100_000  # reports of the parser, which makes 15,000 for a megabyte of usual code
_CHUNK = 1 << 16
_LITERALS = (
    "string", "heredoc", "nowdoc", "template", "encapsed", "raw_string", "interpreted_string",
    "subshell", "regex", "delimited_symbol", "text",
)  # fmt: skip
_BLANKS = " \t\f"  # which mean nothing before code and at the ends of lines
_FIRST = re.compile(rf"(?:[{_BLANKS}]*\n)*([{_BLANKS}]*)")
_LAST_NAME = re.compile(r"([\w$?!]+)(?:[\[<].*)?$", re.DOTALL)
_BLOCK = re.compile(r"/\*+!?|[ \t]*\*+/$|^=begin\b.*\n?|^=end\b.*", re.MULTILINE)
_MARGIN = re.compile(r"^[ \t]*(?:\*(?!/)|//+!?|#+)?[ \t]?", re.MULTILINE)


class Definition(NamedTuple):
    """A function as the grammar gives it.

    Attributes:
        name: Its own name.
        node: The part that holds its parameters and its body.
        owner: The class that the definition itself names, "" for none.
    """

    name: str
    node: Node
    owner: str = ""


@dataclass
class _Open:
    """A class or function that the walk is in; without a definition, one inside of a function."""

    end: int
    name: str = ""
    node: Node | None = None
    definition: Definition | None = None
    has_return: bool = False


class SyntaxTreeLanguage(Language):
    """A language by its grammar.

    Attributes:
        grammar: The module with the grammar, and the name of its function.
        functions: Kinds of nodes that may define a function.
        scopes: Kinds of nodes with a name by which the functions inside are qualified.
        anonymous: Kinds of nodes of functions without a name, whose returns are their own.
        returns: Kinds of nodes that return a value if they hold one.
        comments: Kinds of comments.
        special: Names that CodeSearchNet leaves out.
        opening: What stands before code of a language whose files are text without it.
        wrappers: What may stand before and behind a function that was cut out of its file.
        roles: What identifiers name.
        calling: Kinds of nodes that call → the field with what they call.
    """

    grammar: ClassVar[tuple[str, str]]
    functions: ClassVar[frozenset[str]]
    scopes: ClassVar[frozenset[str]] = frozenset()
    anonymous: ClassVar[frozenset[str]] = frozenset()
    returns: ClassVar[frozenset[str]] = frozenset({"return_statement"})
    comments: ClassVar[frozenset[str]] = frozenset({"comment"})
    special: ClassVar[frozenset[str]] = frozenset()
    opening: ClassVar[str] = ""
    wrappers: ClassVar[tuple[tuple[str, str], ...]] = ()
    roles: ClassVar[Roles] = Roles()
    calling: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        module, function = self.grammar
        self._grammar = Grammar(getattr(importlib.import_module(module), function)())

    def definition_of(self, node: Node) -> Definition | None:
        """Return the function that a node defines, None where it defines none or has no body."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        return Definition(text_of(name), node) if name and body else None

    def parameters_of(self, function: Node) -> Iterator[str]:
        """Yield the names of a function's parameters."""
        parameters = function.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters else ():
            if parameter.type not in self.comments:
                yield text_of(parameter.child_by_field_name("name") or parameter)

    def returns_value(self, function: Node, *, has_return: bool) -> bool:  # noqa: ARG002
        """Return whether a function returns a value.

        Args:
            function: Its node.
            has_return: Whether a ``return`` of its own has a value.
        """
        return has_return

    def called_names(self, code: str) -> frozenset[str]:
        """Return the names by which a box finds the code's functions."""
        try:
            functions = self.functions_of(code)
        except SyntaxError:
            return frozenset()
        return frozenset(function.name.rpartition(".")[2] for function in functions)

    def is_special(self, name: str) -> bool:
        """Return whether a name is one of `special`, or that of its class."""
        *owners, last = name.split(".")
        return last in self.special or owners[-1:] == [last]

    def functions_of(self, text: str) -> Sequence[Function]:
        """Return the named functions and methods of a file, without those inside of others.

        The text may also be a function that was cut out of its class.

        Raises:
            SyntaxError: There are errors and no function without one, the text is nested too
                deeply, or the parser gives up.
        """
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        walks = self._walks(text)
        alone = next(walks)
        found = list(alone.functions())
        is_file = not (alone.before and alone.has_error)
        is_found = not all(function.has_error for function in found)
        if is_file and is_found:
            return found
        for wrapped in walks:
            inside = [] if wrapped.has_error else list(wrapped.functions())
            if inside:
                return inside
        if is_found:
            return found
        if alone.has_error:
            raise SyntaxError("invalid syntax")
        return []

    def _walks(self, text: str) -> Iterator["_Walk"]:
        """Yield a walk over a text alone, and those over what it is with each of `wrappers`."""
        opening = "" if self.opening[:2] in text else self.opening
        for before, behind in (("", ""), *self.wrappers):
            head = f"{opening}{before}"
            yield _Walk(self, f"{head}{text}{behind}".encode(errors="replace"), len(head))

    def _whole(self, text: str) -> "_Walk":
        """Return the first walk over a tree without an error, else that over the text alone."""
        walks = self._walks(text)
        alone = next(walks)
        return next((walk for walk in (alone, *walks) if not walk.has_error), alone)

    def normalised(self, code: str) -> str:
        """Return code at the left margin, without blanks at the ends of lines.

        Where it cannot be parsed, or a literal of several lines would change, all blanks stay.
        """
        text = plain_lines(code)
        found = _FIRST.match(text)
        margin = found[1] if found else ""
        lines = (line.removeprefix(margin).rstrip(_BLANKS) for line in text.split("\n"))
        bare = "\n".join(lines).strip("\n")
        try:
            has_error = bare != text and self._whole(text).has_error
        except SyntaxError:
            return text
        is_same = bare == text or (not has_error and self.tokens(bare) == self.tokens(text))
        return bare if is_same else text

    def canonical(self, code: str) -> str:
        """Return a code's tokens, of which comments are none; of one without any the code."""
        return "\n".join(self.tokens(code)) or self.normalised(code)

    def root_of(self, text: str) -> Node:
        """Return the root of a text's syntax tree, which has a node for each error.

        Raises:
            SyntaxError: The parser gives up.
        """
        return self.parsed(text.encode(errors="replace")).root_node

    def leaves_of(self, code: str) -> list[Leaf]:
        """Return the leaves of a code's simplified parse tree, damaged parts too.

        The code is a file, or functions, fields or statements that were cut out of one.

        Raises:
            SyntaxError: The parser gives up.
        """
        walk = self._whole(code)
        content = walk.content[: walk.before + len(code.encode(errors="replace"))]
        root = walk.tree.root_node
        return simplified(root, content, walk.before, self.roles, self.comments, _LITERALS)

    def signature_of(self, code: str) -> str:
        """Return what stands before the bodies of a code's functions."""
        try:
            return "\n".join(self._header(function.text) for function in self.functions_of(code))
        except SyntaxError:
            return ""

    def _header(self, text: str) -> str:
        """Return what stands before a function's body; its first line where none is found."""
        for node, _, content in self._nodes(text):
            definition = self.definition_of(node)
            body = definition.node.child_by_field_name("body") if definition else None
            if body:
                return content[node.start_byte : body.start_byte].decode().rstrip()
        return text.partition("\n")[0]

    def tokens(self, code: str) -> list[str]:
        """Return names, literals and operators; a literal is one token, and comments are none."""
        return [text for _, text in self._leaves(code)]

    def identifiers(self, code: str) -> list[str]:
        """Return names as often as they occur; the grammar tells them from words of its own."""
        return [
            text
            for node, text in self._leaves(code)
            if text.isidentifier() and node.is_named and node.type != text
        ]

    def calls(self, code: str) -> list[str]:
        """Return the last parts of the names that code calls, inner calls first."""
        found = []
        for node, kind, _ in self._nodes(code):
            called = node.child_by_field_name(self.calling.get(kind, ""))
            if called and (name := _LAST_NAME.search(text_of(called))):
                found.append((node.end_byte, -node.start_byte, name[1]))
        return [name for *_, name in sorted(found)]

    def _leaves(self, code: str) -> Iterator[tuple[Node, str]]:
        """Yield the tokens of a code with their text, none of one that the parser gives up."""
        for node, kind, content in self._nodes(code):
            if (not node.child_count or kind.startswith(_LITERALS)) and kind not in self.comments:
                yield node, content[node.start_byte : node.end_byte].decode()

    def _nodes(self, code: str) -> Iterator[tuple[Node, str, bytes]]:
        """Yield a code's nodes in their order, with their kinds and what their places count in.

        What is inside of literals is left out.
        """
        try:
            walk = self._whole(code)
        except SyntaxError:
            return
        first = walk.before
        last = first + len(code.encode(errors="replace"))
        cursor, goes_on = walk.tree.walk(), True
        while goes_on and (node := cursor.node):
            kind = node.type
            if first <= node.start_byte < last and node.end_byte <= last:
                yield node, kind, walk.content
            goes_on = _next(cursor, into=not kind.startswith(_LITERALS))

    def parsed(self, content: bytes) -> Tree:
        """Return the syntax tree of a text.

        Raises:
            SyntaxError: The parser gives up.
        """
        steps = 0

        def is_too_long(*_: object) -> bool:
            nonlocal steps
            steps += 1
            return steps > _MOST_STEPS

        try:
            return Parser(self._grammar).parse(
                lambda offset, _: content[offset : offset + _CHUNK], progress_callback=is_too_long
            )
        except ValueError:
            raise SyntaxError("the parser gives up") from None


class _Walk:
    """A file's tree, and one walk over it.

    Args:
        language: The language.
        content: The text.
        before: Number of bytes before the text itself; a class that is opened there has no name.
    """

    def __init__(self, language: SyntaxTreeLanguage, content: bytes, before: int = 0) -> None:
        self._language, self.content, self.before = language, content, before
        self.tree = language.parsed(content)
        self._comments: dict[int, Node] = {}  # by the row after their last one
        self._fixed: set[int] = set()  # numbers of lines that begin inside a literal
        self._scopes: list[_Open] = []
        self._functions: list[_Open] = []

    @cached_property
    def _lines(self) -> list[str]:
        return self.content.decode().split("\n")

    @property
    def has_error(self) -> bool:
        """Whether a part could not be parsed."""
        return self.tree.root_node.has_error

    def functions(self) -> Iterator[Function]:
        """Yield the functions in their order.

        Raises:
            SyntaxError: The tree is too deep.
        """
        cursor = self.tree.walk()
        goes_on = True
        while goes_on and (node := cursor.node):
            yield from self._closed(node.start_byte)
            self._enter(node)
            goes_on = _next(cursor)
            if cursor.depth > _DEEPEST:
                raise SyntaxError("nested too deeply")
        yield from self._closed(self.tree.root_node.end_byte)

    def _enter(self, node: Node) -> None:
        kind, language = node.type, self._language
        if kind in language.comments:
            self._comments[node.end_point.row + 1] = node
        elif kind in language.scopes:
            name = node.child_by_field_name("name")
            is_named = name is not None and node.start_byte >= self.before
            self._scopes.append(_Open(node.end_byte, text_of(name) if name and is_named else ""))
        elif kind in language.functions or kind in language.anonymous:
            self._enter_function(node)
        elif kind in language.returns:
            if self._functions and node.named_child_count:
                self._functions[-1].has_return = True
        elif node.start_point.row < node.end_point.row and kind.startswith(_LITERALS):
            self._fixed.update(range(node.start_point.row + 2, node.end_point.row + 2))

    def _enter_function(self, node: Node) -> None:
        language, outer = self._language, self._functions[-1] if self._functions else None
        if outer is None and node.type in language.functions:
            definition = language.definition_of(node)
            if definition:
                self._functions.append(_Open(node.end_byte, node=node, definition=definition))
        elif (
            outer
            and node.child_by_field_name("body")
            and not (outer.definition and outer.definition.node.id == node.id)
        ):
            self._functions.append(_Open(node.end_byte))

    def _closed(self, place: int) -> Iterator[Function]:
        """Yield the function that ends before a place; leave all that do."""
        while self._functions and self._functions[-1].end <= place:
            done = self._functions.pop()
            if done.node and done.definition:
                yield self._function(done.node, done.definition, has_return=done.has_return)
        while self._scopes and self._scopes[-1].end <= place:
            self._scopes.pop()

    def _function(self, node: Node, definition: Definition, *, has_return: bool) -> Function:
        language, scopes = self._language, [scope.name for scope in self._scopes if scope.name]
        first, last = node.start_point.row, node.end_point.row
        lines = self._lines[first : last + 1]
        lines[-1] = cut(lines[-1], None, node.end_point.column)
        start = node.start_point.column
        if cut(lines[0], None, start).strip():
            lines[0] = cut(lines[0], start, None)
        qualified = (*scopes, *filter(None, [definition.owner]), definition.name)
        text = self._moved(lines, first + 1)
        return Function(
            name=".".join(qualified),
            first_line=first + 1,
            last_line=last + 1,
            parameters=tuple(language.parameters_of(definition.node)),
            returns_value=language.returns_value(definition.node, has_return=has_return),
            documentation=self._documentation(first),
            in_class=bool(self._scopes or definition.owner),
            text=text,
            text_without_documentation=text,  # documentation stands before a function
            has_error=node.has_error,
        )

    def _moved(self, lines: Sequence[str], number: int) -> str:
        """Return lines at the left margin, but for those that begin inside a literal.

        Args:
            lines: The lines.
            number: That of the first.
        """
        first, *rest = lines
        margin = first[: len(first) - len(first.lstrip())]
        moved = (
            line if place in self._fixed else line.removeprefix(margin)
            for place, line in enumerate(rest, number + 1)
        )
        return "\n".join((first.lstrip(), *moved))

    def _documentation(self, row: int) -> str:
        """Return the block comment, or the line comments, that end right before a row."""
        found: list[str] = []
        while (comment := self._comments.pop(row, None)) is not None:
            line = self._lines[comment.start_point.row]
            is_block = comment.end_point.row > comment.start_point.row or _is_block(comment)
            if (found and is_block) or cut(line, None, comment.start_point.column).strip():
                break
            found.insert(0, plain_comment(text_of(comment)))
            row = comment.start_point.row
            if is_block:
                break
        return "\n".join(found).strip()


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode(errors="replace")


def plain_comment(text: str) -> str:
    """Return a comment's text without its marks."""
    return _MARGIN.sub("", _BLOCK.sub("", text.strip())).strip()


def cut(line: str, start: int | None, end: int | None) -> str:
    """Return a part of a line by its columns, which tree-sitter counts in bytes."""
    return line.encode()[start:end].decode(errors="replace")


def _is_block(comment: Node) -> bool:
    return text_of(comment).startswith("/*")


def _next(cursor: TreeCursor, *, into: bool = True) -> bool:
    """Move to the next node in the order of the text; False at the end."""
    if into and cursor.goto_first_child():
        return True
    while not cursor.goto_next_sibling():
        if not cursor.goto_parent():
            return False
    return True
