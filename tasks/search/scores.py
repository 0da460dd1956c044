"""Exact scores of chosen pairs of a query and a code, and the arithmetic of searches.

A matrix product in single precision finds what may be among the best; that is scored again in
double precision, so that equal vectors have equal scores in any order of summation inside a
library of linear algebra.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]
Block = tuple[Positions, Mapping[str, Floats]]

# (pairs, d) left and right rows → (pairs,) scores in double precision
Exact = Callable[[Floats, Floats], Doubles]

# Twice the rounding error of a float32 inner product of unit vectors with some thousand dimensions.
# That of other vectors is this times the product of their lengths.
ROUNDING = 1e-5
_THREADS = min(8, os.cpu_count() or 1)
_SCORED = 64  # pairs at once: their vectors stay in a core's cache


class Codes(Protocol):
    """The vectors of all codes, which can be passed over several times."""

    def __call__(self, wanted: Positions | None = None) -> Iterator[Block]:
        """Yield ((m,) ascending positions, encoder → (m, d) vectors), each position once.

        No block is empty.

        Args:
            wanted: Ascending positions that are asked for; others may come too. None: all.
        """
        ...


def in_memory(vectors: Mapping[str, Floats]) -> Codes:
    """Return codes whose vectors are in memory, by position.

    Args:
        vectors: Encoder → (m, d) vectors.
    """
    number = len(next(iter(vectors.values())))

    def codes(wanted: Positions | None = None) -> Iterator[Block]:
        del wanted  # everything is at hand
        if number:
            yield np.arange(number, dtype=np.int32), vectors

    return codes


def lengths_of(rows: Floats) -> Singles:
    """Return the (n,) lengths of (n, d) rows, in single precision."""
    lengths: Singles = np.sqrt(np.einsum("ij,ij->i", rows, rows)).astype(np.float32, copy=False)
    return lengths


def unit_singles(vectors: Floats) -> Singles:
    """Return (n, d) rows of unit length in single precision; themselves where they are so."""
    singles = vectors.astype(np.float32, copy=False)
    lengths = lengths_of(singles)
    if np.all(np.abs(lengths - 1) < ROUNDING / 10):
        return singles
    normal: Singles = singles / lengths[:, None]
    return normal


def inner_products(left: Floats, right: Floats) -> Doubles:
    """Return the inner product of each two rows, summed in one order whatever rows are beside."""
    products = left.astype(np.float64)
    products *= right
    sums: Doubles = products.sum(axis=1)
    return sums


def cosines(left: Floats, right: Floats) -> Doubles:
    """Return the cosine of each two rows, equal for equal rows whatever rows are beside."""
    lengths = inner_products(left, left) * inner_products(right, right)
    found: Doubles = inner_products(left, right) / np.sqrt(lengths)
    return found


def scores_of_pairs(
    left: Floats, right: Floats, left_rows: Rows, right_rows: Rows, exact: Exact = inner_products
) -> Doubles:
    """Return the scores of chosen pairs of rows in double precision, by several threads.

    Args:
        left: (n, d)
        right: (m, d)
        left_rows: (pairs,)
        right_rows: (pairs,)
        exact: Scores two rows.
    """
    found = np.empty(len(left_rows))

    def score(first: int) -> None:
        for start in range(first, min(first + step, len(found)), _SCORED):
            here = slice(start, min(start + _SCORED, first + step))
            found[here] = exact(left[left_rows[here]], right[right_rows[here]])

    step = max(_SCORED, -(-len(found) // _THREADS))
    with ThreadPoolExecutor(_THREADS, "scores") as threads:
        list(threads.map(score, range(0, len(found), step)))
    return found


def score_pairs(
    queries: Mapping[str, Floats], codes: Codes, rows: Rows, positions: Positions
) -> Doubles:
    """Return (pairs, encoders) scores, by one pass over the codes that are in a pair.

    Args:
        queries: Encoder → (n, d) vectors.
        codes: The vectors of the codes by the same encoders.
        rows: (pairs,) the queries.
        positions: (pairs,) the codes.
    """
    found = np.empty((len(rows), len(queries)))
    if not len(rows):
        return found
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    wanted = ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]
    for here, vectors in codes(wanted):
        pairs = slice(*np.searchsorted(ordered, [here[0], here[-1] + 1]))
        code_rows = np.minimum(np.searchsorted(here, ordered[pairs]), len(here) - 1)
        is_here = here[code_rows] == ordered[pairs]
        chosen = order[pairs][is_here]
        for column, (name, left) in enumerate(queries.items()):
            found[chosen, column] = scores_of_pairs(
                left, vectors[name], rows[chosen], code_rows[is_here]
            )
    return found
