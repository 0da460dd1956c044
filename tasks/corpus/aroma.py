"""Similarity of code by the features of Aroma (Luan et al. 2019, section 3.2).

The judge of Neural Code Search (Li et al. 2019) holds a method to be right if its similarity with
the Stack Overflow answer exceeds .25. How that is normalised is not printed: here it is the share
of the answer's features, as a multiset, that the method has.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, pairwise

import numpy as np
from scipy.sparse import csr_array

from infra.languages.java import Java

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
    members = {
        id(leaf.tree): leaf.text
        for leaf in reversed(leaves)
        if not leaf.is_local and leaf.tree.label.startswith("#.")
    }
    used: dict[str, tuple[int, str]] = {}
    for leaf in leaves:
        if leaf.is_local:
            # Of a call on the variable the method's name says more than the label.
            place = leaf.position, members.get(id(leaf.tree), leaf.tree.label)
            if before := used.get(leaf.text):
                features["uses", before, place] += 2  # once for each of the two
            used[leaf.text] = place
    return features


def similarity(answer: Features, method: Features) -> float:
    """Return the share of the answer's features that the method has; 0 of an answer with none."""
    return (answer & method).total() / max(answer.total(), 1)


_BLOCK = 256  # methods that are compared at once
_Key = tuple[tuple[object, ...], int]  # a feature, and which of its occurrences


def have_matches(
    answers: Sequence[str], methods: Iterable[str], threshold: float = THRESHOLD
) -> list[bool]:
    """Return the answers that have a method with a similarity above a threshold.

    A feature's occurrences are columns of their own, so that a product of sparse matrices counts
    what each two have in common as `similarity` does. Of the corpus a block of
    methods is kept, and an answer that has its match is compared no more. The index by rare members
    that finds near duplicates (`tasks.filters`) would leave out hardly any: at a quarter of an
    answer's features three quarters of them would be in it.

    Args:
        answers: Java code.
        methods: Likewise, which may be more than fit into memory.
        threshold: Share of the answer's features.
    """
    columns: dict[_Key, int] = {}
    features = [features_of(answer) for answer in answers]
    for each in features:
        for key in _occurrences(each):
            columns.setdefault(key, len(columns))
    wanted = _matrix(features, columns)
    least = np.array([threshold * each.total() for each in features])
    is_matched = np.zeros(len(answers), bool)
    rest = iter(methods)
    while block := list(islice(rest, _BLOCK)):
        rows = np.flatnonzero(~is_matched)
        shared = wanted[rows] @ _matrix(map(features_of, block), columns).T
        is_matched[rows] = shared.max(axis=1).toarray().ravel() > least[rows]
    return is_matched.tolist()


def _occurrences(features: Features) -> Iterator[_Key]:
    for feature, times in features.items():
        yield from ((feature, occurrence) for occurrence in range(times))


def _matrix(items: Iterable[Features], columns: Mapping[_Key, int]) -> "csr_array[np.int32]":
    """Return (items, columns) ones where an item has the feature so often."""
    indices: list[int] = []
    ends = [0]
    for features in items:
        indices += [columns[key] for key in _occurrences(features) if key in columns]
        ends.append(len(indices))
    shape = len(ends) - 1, max(len(columns), 1)
    return csr_array((np.ones(len(indices), np.int32), indices, ends), shape)
