"""Codes that have a similar method in a corpus, by Aroma's features."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from scipy.sparse import csr_array

from tasks.corpus.aroma import THRESHOLD, Features, features_of

_BLOCK = 256  # methods that are compared at once
_Key = tuple[tuple[object, ...], int]  # a feature, and which of its occurrences


def have_matches(
    answers: Sequence[str], methods: Iterable[str], threshold: float = THRESHOLD
) -> list[bool]:
    """Return the answers that have a method with a similarity above a threshold.

    A feature's occurrences are columns of their own, so that a product of sparse matrices counts
    what each two have in common as `tasks.corpus.aroma.similarity` does. Of the corpus a block of
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
