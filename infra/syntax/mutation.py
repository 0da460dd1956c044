"""Mutants over tree-sitter's syntax trees: code with one small mistake each.

Texts of errors and of what is printed are left as they are: a query seldom demands their words.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, zip_longest
from typing import NamedTuple

from tree_sitter import Node

from infra.languages import Mutant
from infra.syntax import is_telling

# Operator → what a slip makes of it; those of languages that have fewer are never met.
_OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "==": "!=", "!=": "==", "===": "!==", "!==": "===",
    "&&": "||", "||": "&&", "??": "&&",
    "+=": "-=", "-=": "+=", "*=": "+=", "++": "--", "--": "++",
    "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<",
}  # fmt: skip
_BLOCKS = {"statement_block", "statement_list", "block"}
_WORDS = {"true": "false", "false": "true", "break": "continue", "continue": "break"}


class Kinds(NamedTuple):
    """The kinds of nodes of a grammar that mutants change.

    Attributes:
        operations: What has an operator between or beside its parts.
        numbers: Literals of whole numbers and others.
        texts: Literals of texts, and an empty one.
        words: Truth values and jumps.
        conditions: Statement or expression → the field with its condition.
        returns: Statements that return → what gives their text without a value, "" for none.
        statements: Statements that can be left out.
        silent: Nodes whose texts stay as they are.
        silent_calls: Beginnings of the names of functions that print or log.
    """

    operations: frozenset[str]
    numbers: frozenset[str]
    texts: Mapping[str, str]
    words: frozenset[str]
    conditions: Mapping[str, str]
    returns: Mapping[str, Callable[[Node], str]]
    statements: frozenset[str]
    silent: frozenset[str]
    silent_calls: tuple[str, ...]


class _Change(NamedTuple):
    kind: str
    node: Node
    text: str


def mutants_of(
    root: Node, code: str, kinds: Kinds, limit: int, before: int = 0
) -> tuple[Mutant, ...]:
    """Return at most ``limit`` mutants, of each kind in turn.

    Args:
        root: The tree of the code.
        code: The code.
        kinds: The grammar's.
        limit: How many.
        before: Bytes of the tree's text before the code, on its first line.
    """
    source = code.encode(errors="replace")
    found: dict[str, list[Mutant]] = {}
    seen = {source}
    for change in _changes(root, kinds):
        start, end = change.node.start_byte - before, change.node.end_byte - before
        mutated = source[:start] + change.text.encode() + source[end:]
        if start < 0 or end > len(source) or mutated in seen:
            continue
        seen.add(mutated)
        told = f"{_line(_source(change.node))} → {_line(change.text)}"
        line, text = change.node.start_point.row + 1, mutated.decode(errors="replace")
        mutant = Mutant(kind=change.kind, line=line, change=told, code=text)
        found.setdefault(change.kind, []).append(mutant)
    in_turn = (one for row in zip_longest(*found.values()) for one in row if one is not None)
    return tuple(islice(in_turn, limit))


def stopping_at(root: Node, code: str, line: int, stop: str, before: int = 0) -> str:
    """Return code with a statement before the innermost one of a line, "" where there is none.

    Args:
        root: The tree of the code.
        code: The code.
        line: Its number, from 1.
        stop: The statement.
        before: As of `mutants_of`.
    """
    place, nodes = None, [root]
    while nodes:
        node = nodes.pop()
        if not node.start_point.row < line <= node.end_point.row + 1:
            continue
        nodes += node.named_children
        if node.parent and node.parent.type in _BLOCKS and node.parent.parent:
            place = max(place or 0, node.start_byte - before)
    source = code.encode(errors="replace")
    is_inside = place is not None and 0 < place <= len(source)
    return (source[:place] + stop.encode() + source[place:]).decode() if is_inside else ""


def _line(text: str) -> str:
    return " ".join(text.split())[:80]


def _changes(root: Node, kinds: Kinds) -> Iterator[_Change]:
    nodes = [root]
    while nodes:
        node = nodes.pop()
        yield from _of_node(node, kinds)
        # What is raised, printed or logged is left as it is.
        if node.type == "expression_statement":  # its value is nobody's
            is_silent = is_telling(_source(node).partition("(")[0])
        else:
            is_log = node.type == "call_expression" and _source(node).startswith(kinds.silent_calls)
            is_silent = is_log or node.type in kinds.silent
        if not is_silent:
            nodes += reversed(node.children)


def _of_node(node: Node, kinds: Kinds) -> Iterator[_Change]:
    kind, text = node.type, _source(node)
    if kind in kinds.operations:
        for operator in node.children:
            if not operator.is_named and operator.type in _OPERATORS:
                yield _Change("operator", operator, _OPERATORS[operator.type])
    elif kind in kinds.numbers:
        yield _Change("number", node, f"({text} + 1)")
    elif kind in kinds.texts:
        yield _Change("text", node, kinds.texts[kind])
    elif kind in kinds.words and (word := text.rstrip("; ")) in _WORDS:
        yield _Change("word", node, text.replace(word, _WORDS[word]))
    field = kinds.conditions.get(kind)
    condition = node.child_by_field_name(field) if field else None
    if condition is not None:
        yield _Change("condition", condition, f"(!({_source(condition)}))")
    returns = kinds.returns.get(kind) if node.named_child_count else None
    if returns and (returned := returns(node)):
        yield _Change("return", node, returned)
    if kind in kinds.statements and node.parent and node.parent.parent:  # in a function
        yield _Change("statement", node, ";")


def _source(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
