"""Languages that are read by tree-sitter: one walk over a syntax tree finds what is asked of it.

Nothing here recurs, so that deep nesting costs no stack. The grammars' own queries would need less
text, but they take minutes on trees of 100,000 levels, such as damaged files give.
"""

import importlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from itertools import count, takewhile, zip_longest
from typing import ClassVar, NamedTuple

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Tree, TreeCursor

from infra.languages import Function, Language, Mutant, plain_lines
from infra.syntax.comments import GENERATED, directives, is_notice, prose_of
from infra.syntax.mutation import Kinds, mutants_of, stopping_at
from infra.syntax.simplified_tree import Leaf, Roles, simplified

_DEEPEST = 1_000  # levels of a syntax tree
_STEPS = 16  # reports of the parser between looks at the clock
_LONGEST, _LONGEST_OF_BYTE = 0.5, 3e-6  # seconds of the processor; usual code takes 3e-7 a byte
_CHUNK = 1 << 16
_LITERALS = (
    "string", "heredoc", "nowdoc", "template", "encapsed", "raw_string", "interpreted_string",
    "subshell", "regex", "delimited_symbol", "text",
)  # fmt: skip
_BLANKS = " \t\f"  # which mean nothing before code and at the ends of lines
_FIRST = re.compile(rf"(?:[{_BLANKS}]*\n)*([{_BLANKS}]*)")
_LAST_NAME = re.compile(r"([\w$?!]+)(?:[\[<].*)?$", re.DOTALL)


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


@dataclass(eq=False)
class _Frame:
    """Stack frame of the walk: a function, which has no definition inside of another.

    Attributes:
        node: All of it, but for texts of its here documents.
        definition: What defines it.
        name: Its qualified name.
        in_class: Whether it is a method.
        documentation: What documents it.
        inner: The comment in its header that does so, None where it stands before.
        has_return: Whether a ``return`` of its own has a value.
        texts: The beginnings of its here documents, each with its text, None for none.
    """

    node: Node
    definition: Definition | None = None
    name: str = ""
    in_class: bool = False
    documentation: str = ""
    inner: Node | None = None
    has_return: bool = False
    texts: list[tuple[Node, Node | None]] = field(default_factory=list)


class SyntaxTreeLanguage(Language):
    """A language by its grammar.

    Attributes:
        grammar: The module with the grammar, and the name of its function.
        functions: Kinds of nodes that may define a function.
        scopes: Kinds of nodes with a name by which the functions inside are qualified.
        anonymous: Kinds of nodes of functions without a name, whose returns are their own.
        returns: Kinds of nodes that return a value if they hold one.
        comments: Kinds of comments.
        documenting: How comments begin that document whatever follows them, blank lines or not;
            where there are none, others document that end right before it.
        generated: A line of a comment before all code that says that a program wrote the file.
        leading: Kinds of nodes that are no code, beside comments.
        special: Names that CodeSearchNet leaves out.
        opening: What stands before code of a language whose files are text without it.
        wrappers: What may stand before and behind a function that was cut out of its file.
        roles: What identifiers name.
        calling: Kinds of nodes that call → the field with what they call.
        mutated: Kinds of nodes that mutants change, None where there are no mutants.
        stop: A statement that ends the process, "" where no code is run.
    """

    grammar: ClassVar[tuple[str, str]]
    functions: ClassVar[frozenset[str]]
    scopes: ClassVar[frozenset[str]] = frozenset()
    anonymous: ClassVar[frozenset[str]] = frozenset()
    returns: ClassVar[frozenset[str]] = frozenset({"return_statement"})
    comments: ClassVar[frozenset[str]] = frozenset({"comment"})
    documenting: ClassVar[tuple[str, ...]] = ()
    generated: ClassVar[re.Pattern[str]] = GENERATED
    leading: ClassVar[frozenset[str]] = frozenset()
    special: ClassVar[frozenset[str]] = frozenset()
    opening: ClassVar[str] = ""
    wrappers: ClassVar[tuple[tuple[str, str], ...]] = ()
    roles: ClassVar[Roles] = Roles()
    calling: ClassVar[Mapping[str, str]] = {}
    mutated: ClassVar[Kinds | None] = None
    stop: ClassVar[str] = ""

    def __init__(self) -> None:
        module, function = self.grammar
        self._grammar = Grammar(getattr(importlib.import_module(module), function)())
        self.directives = directives("common", self.name)

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
        """Return True if a function returns a value.

        Args:
            function: Its node.
            has_return: Whether a ``return`` of its own has a value.
        """
        return has_return

    def documentation_inside(self, function: Node) -> Node | None:  # noqa: ARG002 - by default
        """Return the comment in a function's header that documents it, None where it is before."""
        return None

    def is_generated(self, text: str) -> bool:
        """Return True if a comment before all code says that a program wrote the file."""
        if "generated" not in text.casefold():
            return False
        kinds = self.comments | self.leading
        head = takewhile(lambda node: node.type in kinds, self.root_of(text).children)
        comments = (text_of(node) for node in head if node.type in self.comments)
        return any(self.generated.match(line) for text in comments for line in text.splitlines())

    def called_names(self, code: str) -> frozenset[str]:
        """Return the names by which a box finds the code's functions."""
        try:
            functions = self.functions_of(code)
        except SyntaxError:
            return frozenset()
        return frozenset(function.name.rpartition(".")[2] for function in functions)

    def is_special(self, name: str) -> bool:
        """Return True if a name is one of `special`, or that of its class."""
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
        found = alone.functions()
        is_file = not (alone.before and alone.has_error)
        is_found = not all(function.has_error for function in found)
        if is_file and is_found:
            return found
        for walk in walks:
            inside = [] if walk.has_error else walk.functions()
            if inside or not (walk.before or walk.has_error):
                return inside
        if is_found:
            return found
        if alone.has_error:
            raise SyntaxError("invalid syntax")
        return []

    def _walks(self, text: str) -> Iterator["_Walk"]:
        """Yield a walk over a text alone, and those over what it is with each of `wrappers`.

        A text that holds the opening's first letters is a page only where it begins with a tag or a
        line for the shell, or where it can't be read as code, for code has texts that hold them.
        """
        page = [("", "")] if self.opening and self.opening[:2] in text else []
        is_page = bool(page) and text.lstrip().startswith(("<", "#!"))
        code = [(f"{self.opening}{head}", tail) for head, tail in (("", ""), *self.wrappers)]
        for head, tail in page if is_page else (*code, *page):
            yield _Walk(self, f"{head}{text}{tail}".encode(errors="replace"), len(head))

    def _best_walk(self, text: str) -> "_Walk":
        """Return the first walk over a tree without an error, else that over the text alone."""
        walks = self._walks(text)
        alone = next(walks)
        return next((walk for walk in (alone, *walks) if not walk.has_error), alone)

    def _read(self, code: str) -> "_Walk | None":
        """Return the walk of `_best_walk`, None where the parser gives up."""
        try:
            return self._best_walk(code)
        except SyntaxError:
            return None

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
            has_error = bare != text and self._best_walk(text).has_error
        except SyntaxError:
            return text
        is_same = bare == text or (not has_error and self.tokens(bare) == self.tokens(text))
        return bare if is_same else text

    def canonical(self, code: str) -> str:
        """Return a code's tokens, of which comments are none; the code where it does not parse."""
        walk = self._read(code)
        tokens = self._leaves(walk, code) if walk and not walk.has_error else ()
        return "\n".join(text for _, text in tokens) or self.normalised(code)

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
        walk = self._best_walk(code)
        content = walk.content[: walk.before + len(code.encode(errors="replace"))]
        root = walk.tree.root_node
        return simplified(root, content, walk.before, self.roles, self.comments, _LITERALS)

    def signature_of(self, code: str) -> str:
        """Return the headers of a code's functions."""
        try:
            return "\n".join(self._header(function.text) for function in self.functions_of(code))
        except SyntaxError:
            return ""

    def _header(self, text: str) -> str:
        """Return a function's header; its first line where no body is found."""
        walk = self._read(text)
        for node, _ in _nodes(walk, text) if walk else ():
            definition = self.definition_of(node)
            body = definition.node.child_by_field_name("body") if definition else None
            if walk and body:
                return walk.content[node.start_byte : body.start_byte].decode().rstrip()
        return text.partition("\n")[0]

    def tokens(self, code: str) -> list[str]:
        """Return names, literals and operators; a literal is one token, and comments are none."""
        walk = self._read(code)
        return [text for _, text in self._leaves(walk, code)] if walk else [*super().tokens(code)]

    def identifiers(self, code: str) -> list[str]:
        """Return names as often as they occur; the grammar tells them from words of its own."""
        walk = self._read(code)
        if walk is None:
            return [*super().identifiers(code)]
        return [
            text
            for node, text in self._leaves(walk, code)
            if text.isidentifier() and node.is_named and node.type != text
        ]

    def calls(self, code: str) -> list[str]:
        """Return the last parts of the names that code calls, inner calls first."""
        found = []
        walk = self._read(code)
        for node, kind in _nodes(walk, code) if walk else ():
            called = node.child_by_field_name(self.calling.get(kind, ""))
            if called and (name := _LAST_NAME.search(text_of(called))):
                found.append((node.end_byte, -node.start_byte, name[1]))
        return [name for *_, name in sorted(found)]

    def mutants_of(self, code: str, limit: int) -> Sequence[Mutant]:
        """Return at most ``limit`` mutants, each with one small mistake."""
        walk = self._read(code) if self.mutated else None
        if self.mutated is None or walk is None or walk.has_error:
            return ()
        return mutants_of(walk.tree.root_node, code, self.mutated, limit, walk.before)

    @property
    def returned(self) -> str:
        """The text that changes what the language's functions return."""
        return files("infra.languages").joinpath(f"returned{self.suffixes[0]}").read_text("utf-8")

    def stopping_at(self, code: str, line: int) -> str:
        """Return code that ends its process where a line is reached, "" where none can."""
        walk = self._read(code) if self.stop else None
        if walk is None or walk.has_error:
            return ""
        return stopping_at(walk.tree.root_node, code, line, self.stop, walk.before)

    def _leaves(self, walk: "_Walk", code: str) -> Iterator[tuple[Node, str]]:
        """Yield the tokens of a code with their text."""
        for node, kind in _nodes(walk, code):
            if (not node.child_count or _is_literal(kind)) and kind not in self.comments:
                yield node, walk.content[node.start_byte : node.end_byte].decode()

    def parsed(self, content: bytes) -> Tree:
        """Return the syntax tree of a text.

        Raises:
            SyntaxError: The parser gives up.
        """
        end, steps = time.thread_time() + _LONGEST + _LONGEST_OF_BYTE * len(content), count()

        def is_too_long(*_: object) -> bool:
            return next(steps) % _STEPS == 0 and time.thread_time() > end

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
        self._comments: list[Node] = []  # behind the beginning of the last function
        self._fixed: set[int] = set()  # numbers of lines that begin inside a literal
        self._scopes: list[tuple[int, str]] = []  # their ends and their names
        self._functions: list[_Frame] = []
        self._done: list[_Frame] = []
        # Here documents, whose texts stand behind the lines of their beginnings, and their owners.
        self._beginnings: list[tuple[Node, _Frame | None]] = []
        self._texts: list[Node] = []

    @cached_property
    def _lines(self) -> list[str]:
        return self.content.decode().split("\n")

    @property
    def has_error(self) -> bool:
        """True if a part could not be parsed."""
        return self.tree.root_node.has_error

    def functions(self) -> list[Function]:
        """Return the functions in their order.

        Raises:
            SyntaxError: The tree is too deep.
        """
        cursor = self.tree.walk()
        goes_on = True
        while goes_on and (node := cursor.node):
            self._leave(node.start_byte)
            self._enter(node)
            goes_on = _next(cursor)
            if cursor.depth > _DEEPEST:
                raise SyntaxError("nested too deeply")
        self._leave(self.tree.root_node.end_byte)
        for (beginning, owner), text in zip_longest(self._beginnings, self._texts):
            if owner:
                owner.texts.append((beginning, text))
        return [self._function(done) for done in self._done]

    def _enter(self, node: Node) -> None:
        kind, language = node.type, self._language
        if kind in language.comments:
            self._comments.append(node)
        elif kind in language.scopes:
            name = node.child_by_field_name("name")
            is_named = name is not None and node.start_byte >= self.before
            self._scopes.append((node.end_byte, text_of(name) if name and is_named else ""))
        elif kind in language.functions or kind in language.anonymous:
            self._enter_function(node)
        elif kind in language.returns:
            if self._functions and node.named_child_count:
                self._functions[-1].has_return = True
        elif kind == "heredoc_beginning":
            self._beginnings.append((node, self._functions[0] if self._functions else None))
        elif kind == "heredoc_body" and len(self._texts) < len(self._beginnings):
            self._texts.append(node)
        elif _is_literal(kind) and kind != "heredoc_content":
            self._fixed.update(_rows_behind(node))

    def _enter_function(self, node: Node) -> None:
        if self._functions:
            outer = self._functions[-1].definition
            if node.child_by_field_name("body") and not (outer and outer.node.id == node.id):
                self._functions.append(_Frame(node))
            return
        defines = node.type in self._language.functions
        if not defines or not (definition := self._language.definition_of(node)):
            return
        scopes = [name for _, name in self._scopes]
        inner = self._language.documentation_inside(node)
        said = prose_of(text_of(inner), self._language.directives) if inner else None
        before = self._documentation(node)
        frame = _Frame(
            node,
            definition,
            ".".join(filter(None, (*scopes, definition.owner, definition.name))),
            in_class=bool(scopes or definition.owner),
            documentation=said or before,
            inner=inner if said else None,
        )
        self._functions.append(frame)

    def _leave(self, place: int) -> None:
        """Leave all that ends before a place."""
        while self._functions and self._functions[-1].node.end_byte <= place:
            done = self._functions.pop()
            if done.definition:
                self._done.append(done)
        while self._scopes and self._scopes[-1][0] <= place:
            self._scopes.pop()

    def _function(self, done: _Frame) -> Function:
        assert done.definition  # noqa: S101 - else it is none of `_done`
        language, defined = self._language, done.definition.node
        header = self._lines[done.node.start_point.row]
        margin = header[: len(header) - len(header.lstrip())]
        texts = [(beginning, text) for beginning, text in done.texts if text]
        for beginning, text in texts:
            rows = _rows_behind(text)
            # By a margin of all its lines ``<<~`` means nothing.
            is_moved = text_of(beginning).startswith("<<~") and all(
                line.startswith(margin) or not line.strip()
                for line in self._lines[rows.start - 1 : rows.stop - 1]
            )
            if not is_moved:
                self._fixed.update(rows)
        lines = self._text(done.node, [text for _, text in texts])
        first = done.node.start_point.row + 1
        dedented = bare = self._dedent(lines, first, margin)
        if done.inner:
            bare = self._dedent(_drop_comment(lines, done.inner), first, margin)
        return Function(
            name=done.name,
            first_line=first,
            last_line=max(lines),
            parameters=tuple(language.parameters_of(defined)),
            returns_value=language.returns_value(defined, has_return=done.has_return),
            documentation=done.documentation,
            in_class=done.in_class,
            text=dedented,
            text_without_documentation=bare,
            has_error=done.node.has_error or len(texts) < len(done.texts),
        )

    def _text(self, node: Node, texts: Sequence[Node]) -> dict[int, str]:
        """Return the lines of a function by their numbers, with its here documents."""
        found: dict[int, str] = {}
        for part in (node, *(text for text in texts if text.start_byte >= node.end_byte)):
            rows = range(part.start_point.row + (part is not node), part.end_point.row + 1)
            found |= {row + 1: self._lines[row] for row in rows}
            found[rows.stop] = cut(self._lines[rows.stop - 1], None, part.end_point.column)
        row, start = node.start_point
        if cut(found[row + 1], None, start).strip():
            found[row + 1] = " " * start + cut(found[row + 1], start, None)
        return found

    def _dedent(self, lines: Mapping[int, str], first: int, margin: str) -> str:
        """Return lines at the left margin, but for those that begin inside a literal."""
        return "\n".join(
            line.lstrip() if row == first
            else line if row in self._fixed
            else line.removeprefix(margin)
            for row, line in lines.items()
        )  # fmt: skip

    def _documentation(self, node: Node) -> str:
        """Return the comment that documents a function, or those that end right before it.

        Comments for tools alone are passed over.
        """
        near: list[str] = []
        is_near, row = True, node.start_point.row
        for comment in self._comments_before(node):
            text = text_of(comment)
            said = prose_of(text, self._language.directives)
            is_documenting = text.startswith(self._language.documenting)
            if said and is_documenting and not is_notice(said):
                return said
            first, last = comment.start_point.row, comment.end_point.row
            is_block = first < last or text.startswith("/*")
            is_near = is_near and last + 1 == row and not (near and is_block)
            if is_near and said is not None:
                near.append(said)
                is_near = not is_block
            row = first
        found = "\n".join(reversed(near)).strip()
        return "" if is_notice(found) else found

    def _comments_before(self, node: Node) -> Iterator[Node]:
        """Yield the comments between a function's line and the code before, the last one first."""
        comments, self._comments = self._comments, []
        place = node.start_byte
        if comments and self.content[comments[-1].end_byte : place].strip():
            place -= node.start_point.column  # something such as "export" stands before
        for comment in reversed(comments):
            row, column = comment.start_point
            is_behind_code = bool(cut(self._lines[row], None, column).strip())
            is_apart = comment.end_point.row < node.start_point.row
            if comment.end_byte > place or self.content[comment.end_byte : place].strip():
                return
            if is_behind_code and is_apart:
                return
            yield comment
            place = comment.start_byte


@cache
def _is_literal(kind: str) -> bool:
    return kind.startswith(_LITERALS)


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode(errors="replace")


def cut(line: str, start: int | None, end: int | None) -> str:
    """Return a part of a line by its columns, which tree-sitter counts in bytes."""
    return line.encode()[start:end].decode(errors="replace")


def _rows_behind(node: Node) -> range:
    """Return the numbers of a node's lines but the first."""
    return range(node.start_point.row + 2, node.end_point.row + 2)


def _drop_comment(lines: Mapping[int, str], comment: Node) -> dict[int, str]:
    """Return lines by their numbers without a comment, and without lines that it leaves empty."""
    first, last = comment.start_point.row + 1, comment.end_point.row + 1
    rest = cut(lines[first], None, comment.start_point.column).rstrip()
    rest += cut(lines[last], comment.end_point.column, None)
    kept = {row: line for row, line in lines.items() if not first <= row <= last}
    return dict(sorted((kept | ({last: rest} if rest.strip() else {})).items()))


def _nodes(walk: _Walk, code: str) -> Iterator[tuple[Node, str]]:
    """Yield a code's nodes in their order, with their kinds; none inside of literals."""
    first = walk.before
    last = first + len(code.encode(errors="replace"))
    cursor, goes_on = walk.tree.walk(), True
    while goes_on and (node := cursor.node):
        kind = node.type
        if first <= node.start_byte < last and node.end_byte <= last:
            yield node, kind
        goes_on = _next(cursor, into=not _is_literal(kind))


def _next(cursor: TreeCursor, *, into: bool = True) -> bool:
    """Move to the next node in the order of the text; False at the end."""
    if into and cursor.goto_first_child():
        return True
    while not cursor.goto_next_sibling():
        if not cursor.goto_parent():
            return False
    return True
