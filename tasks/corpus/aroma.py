"""Similarity of code by the features of Aroma (Luan et al. 2019, section 3.2).

The judge of Neural Code Search (Li et al. 2019) holds a method to be right if its similarity with
the Stack Overflow answer exceeds .25. How that is normalised is not printed: here it is the share
of the answer's features, as a multiset, that the method has.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from infra.languages.java import Java
from infra.syntax.simplified_tree import Leaf

THRESHOLD = 0.25
_LOCAL = "#VAR"
_PARENTS = 3

Features = Counter[tuple[object, ...]]

_java = cache(Java)


def features_of(code: str) -> Features:
    """Return the features of a Java code's tokens, keywords aside, each as often as it occurs.

    Of a token, which is ``#VAR`` where it names a local variable: itself; with the label of each of
    three trees around it and its position there; with the token before and the one behind; and of a
    local variable its place with the places where it was used before and is used next. Code that
    the parser gives up has none.
    """
    try:
        leaves = _java().leaves_of(code)
    except SyntaxError:
        return Counter()
    tokens = [_LOCAL if leaf.is_local else leaf.text for leaf in leaves]
    features: Features = Counter()
    for token, leaf in zip(tokens, leaves, strict=True):
        features["token", token] += 1
        tree, position = leaf.tree, leaf.position
        for _ in range(_PARENTS):
            features["parent", token, position, tree.label] += 1
            if tree.parent is None:
                break
            tree, position = tree.parent, tree.position
    for pair in pairwise(tokens):
        features["siblings", *pair] += 2  # each of the two has the other
    return features + _uses(leaves)


def _uses(leaves: Sequence[Leaf]) -> Features:
    """Return, of each two uses of a variable after each other, their places, once for each."""
    members = {
        id(leaf.tree): leaf.text
        for leaf in reversed(leaves)
        if not leaf.is_local and leaf.tree.label.startswith("#.")
    }
    features: Features = Counter()
    used: dict[str, tuple[int, str]] = {}
    for leaf in leaves:
        if leaf.is_local:
            # Of a call on the variable the method's name says more than the label.
            place = leaf.position, members.get(id(leaf.tree), leaf.tree.label)
            if before := used.get(leaf.text):
                features["uses", before, place] += 2
            used[leaf.text] = place
    return features


def similarity(answer: Features, method: Features) -> float:
    """Return the share of the answer's features that the method has; 0 of an answer with none."""
    return (answer & method).total() / max(answer.total(), 1)
