"""Inner products of vectors: which of many pass a bound, and those of chosen pairs, exactly.

A matrix product in single precision finds what may pass; what does is scored again in double
precision, so that equal vectors have equal scores in any order of summation inside the BLAS.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]

# Twice the rounding error of a float32 inner product of unit vectors with some thousand dimensions.
# That of other vectors is so many times the product of their lengths.
ROUNDING = 1e-5
OFF_UNIT = 1e-2  # how far from 1 the lengths of unit vectors may lie
LOWEST = np.finfo(np.float32).min  # a bound that every score passes, and -inf does not
QUERIES, ITEMS = 2_048, 8_192  # of a block of scores, which takes 64 MB
_SCORED = 64  # pairs at once: what they need stays in a core's cache

# (pairs, d) left and right rows → (pairs,) scores in double precision
Exact = Callable[[Floats, Floats], Doubles]
Found = tuple[Rows, Rows, Singles]  # rows, columns and scores of what passes, by rising row


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
    products: Doubles = np.multiply(left, right, dtype=np.float64).sum(axis=1)
    return products


def cosines(left: Floats, right: Floats) -> Doubles:
    """Return the cosine of each two rows, equal for equal rows whatever rows are beside."""
    lengths = inner_products(left, left) * inner_products(right, right)
    found: Doubles = inner_products(left, right) / np.sqrt(lengths)
    return found


def scores_of_pairs(
    left: Floats, right: Floats, left_rows: Rows, right_rows: Rows, exact: Exact = inner_products
) -> Doubles:
    """Return the scores of chosen pairs of rows in double precision.

    Args:
        left: (n, d)
        right: (m, d)
        left_rows: (pairs,)
        right_rows: (pairs,)
        exact: Scores two rows.
    """
    found = np.empty(len(left_rows))
    for start in range(0, len(left_rows), _SCORED):
        here = slice(start, start + _SCORED)
        found[here] = exact(left[left_rows[here]], right[right_rows[here]])
    return found


def score_blocks(queries: Singles, items: Singles) -> Iterator[tuple[slice, slice, Singles]]:
    """Yield some queries, some items and their scores, until there are all; each is overwritten.

    Args:
        queries: (n, d)
        items: (m, d)
    """
    buffer = np.empty(min(len(queries), QUERIES) * ITEMS, np.float32)
    for first in range(0, len(queries), QUERIES):
        some = slice(first, min(first + QUERIES, len(queries)))
        for start in range(0, len(items), ITEMS):
            here = slice(start, min(start + ITEMS, len(items)))
            shape = some.stop - some.start, here.stop - here.start
            scores = buffer[: shape[0] * shape[1]].reshape(shape)
            yield some, here, np.matmul(queries[some], items[here].T, out=scores)


def passing(scores: Singles, bounds: Singles) -> Found:
    """Return rows, columns and values of the scores that are at least their row's bound.

    Args:
        scores: (n, m)
        bounds: (n,)
    """
    return found_at(scores, reaching(scores, bounds))


def reaching(scores: Singles, bounds: Singles) -> Rows:
    """Return where, row after row, the (n, m) scores are at least their row's bound."""
    found: Rows = np.flatnonzero(scores >= bounds[:, None])
    return found


def found_at(scores: Singles, cells: Rows) -> Found:
    """Return rows, columns and values of the (n, m) scores at these cells, row after row."""
    rows, columns = np.divmod(cells, scores.shape[1])
    return rows, columns, scores.reshape(-1)[cells]


def places(grouped: Rows) -> Rows:
    """Return the place, from 0, of each element among the equal ones around it."""
    starts = np.flatnonzero(np.diff(grouped, prepend=-1))
    sizes = np.diff(np.append(starts, len(grouped)))
    found: Rows = np.arange(len(grouped)) - np.repeat(starts, sizes)
    return found
