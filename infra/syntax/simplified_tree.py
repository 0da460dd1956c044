"""Simplified parse trees (Luan et al. 2019, "Aroma", section 3.1), of any grammar of tree-sitter.

A tree is a list of keywords, other tokens and trees; one that would hold a tree alone is that tree.
Its label is its keywords, with ``#`` for each other element. Nothing here recurs.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tree_sitter import Node


class Roles(NamedTuple):
    """The kinds of names, by the node above an identifier and its field in it.

    Attributes:
        declared: Where a local variable is declared.
        members: Where an identifier names no variable, such as a method that is called.
        fields: Kinds of nodes in which a declared variable is not local.
    """

    declared: AbstractSet[tuple[str, str | None]] = frozenset()
    members: AbstractSet[tuple[str, str | None]] = frozenset()
    fields: AbstractSet[str] = frozenset()


@dataclass(eq=False)
class SimplifiedTree:
    """A list of keywords, tokens and trees, to which the leaves refer.

    Attributes:
        parent: The tree that it is an element of, None for the whole.
        position: Its number among the parent's elements that are no keywords, from 1.
        pieces: Its keywords, and ``#`` for each other element.
    """

    parent: "SimplifiedTree | None" = None
    position: int = 0
    pieces: list[str] = field(default_factory=list, repr=False)
    elements: int = 0

    @cached_property
    def label(self) -> str:
        """The keywords, and ``#`` for each other element."""
        return "".join(self.pieces)

    def add(self) -> int:
        """Add an element that is no keyword, and return its position."""
        self.pieces.append("#")
        self.elements += 1
        return self.elements


class Leaf(NamedTuple):
    """A token that is no keyword.

    Attributes:
        text: The token.
        tree: The tree that it is an element of.
        position: Its number among the tree's elements that are no keywords, from 1.
        is_local: Whether it names a local variable, one that the code itself declares.
    """

    text: str
    tree: SimplifiedTree
    position: int
    is_local: bool


def simplified(
    root: Node,
    content: bytes,
    start: int,
    roles: Roles,
    comments: AbstractSet[str],
    literals: tuple[str, ...],
) -> list[Leaf]:
    """Return the leaves of a simplified parse tree in their order.

    Args:
        root: The root of the syntax tree.
        content: What was parsed, as far as it counts.
        start: The first byte that counts; those before are of a wrapper, as those behind.
        roles: What identifiers name.
        comments: Kinds of comments, which are left out.
        literals: How the kinds of nodes begin that are one token, whatever they are made of.
    """
    leaves: list[Leaf] = []
    declared: set[str] = set()
    for node, tree, above, field_name in _tokens(root, content, start, comments, literals):
        text = content[node.start_byte : node.end_byte].decode(errors="replace")
        if not node.is_named or node.type in {text, f"{text}_literal", f"{text}_type"}:
            tree.pieces.append(text)
            continue
        role = above[-1], field_name
        is_variable = node.type == "identifier" and role not in roles.members
        if is_variable and role in roles.declared and above[0] not in roles.fields:
            declared.add(text)
        leaves.append(Leaf(text, tree, tree.add(), is_variable))
    return [leaf._replace(is_local=leaf.is_local and leaf.text in declared) for leaf in leaves]


def _tokens(
    root: Node, content: bytes, start: int, comments: AbstractSet[str], literals: tuple[str, ...]
) -> Iterator[tuple[Node, SimplifiedTree, tuple[str, str], str | None]]:
    """Yield tokens, each with its tree, the kinds of the two nodes around it, and its field."""
    around: list[tuple[str, SimplifiedTree]] = [("", SimplifiedTree())] * 2
    cursor = root.walk()
    while node := cursor.node:
        tree = around[-1][1]
        is_inside = start <= node.start_byte and node.end_byte <= len(content)
        if node.type in comments:
            pass
        elif node.child_count and not node.type.startswith(literals):
            own = sum(child.type not in comments for child in node.children)
            if is_inside and own > 1:
                tree = SimplifiedTree(tree, tree.add())
            around.append((node.type, tree))
            cursor.goto_first_child()
            continue
        elif is_inside and node.start_byte < node.end_byte:
            yield node, tree, (around[-2][0], around[-1][0]), cursor.field_name
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            around.pop()
