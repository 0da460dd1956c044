"""Scores of chosen pairs of a query and a code in double precision, with one pass over the codes.

Only the codes that are in a pair are asked for.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Protocol

import numpy as np

from tasks.search.scores import (
    Doubles,
    Exact,
    Floats,
    Positions,
    Rows,
    inner_products,
    scores_of_pairs,
)

Block = tuple[Positions, Mapping[str, Floats]]
THREADS = min(8, os.cpu_count() or 1)
_MOST = 0.25  # share of the codes from which on all are read


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


def search_threads() -> Executor:
    """Return threads for a ``with``, one for each core, eight at most."""
    return ThreadPoolExecutor(THREADS, "search")


class PairScorer:
    """Scores pairs.

    Args:
        queries: Encoder → (n, d) vectors.
        codes: The vectors of the codes by the same encoders.
        threads: What computes.
        exact: Scores two rows.
    """

    def __init__(
        self,
        queries: Mapping[str, Floats],
        codes: Codes,
        threads: Executor,
        exact: Exact = inner_products,
    ) -> None:
        self._queries = queries
        self._codes = codes
        self.threads = threads
        self._exact = exact

    def score(self, rows: Rows, positions: Positions, *, repeated: bool = False) -> Doubles:
        """Return (pairs, encoders) scores.

        Args:
            rows: (pairs,) the queries.
            positions: (pairs,) the codes.
            repeated: Whether many codes have equal vectors, each of which is then scored once.
        """
        found = np.empty((len(rows), len(self._queries)))
        if not len(rows):
            return found
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        wanted = ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]
        most = len(wanted) > _MOST * int(wanted[-1])  # to choose rows would copy nearly all
        for here, vectors in self._codes(None if most else wanted):
            pairs = slice(*np.searchsorted(ordered, [here[0], here[-1] + 1]))
            places = np.minimum(np.searchsorted(here, ordered[pairs]), len(here) - 1)
            is_here = here[places] == ordered[pairs]
            chosen = order[pairs][is_here]
            score = self._score_equal if repeated else self._score_block
            found[chosen] = score(vectors, rows[chosen], places[is_here])
        return found

    def _score_block(self, vectors: Mapping[str, Floats], rows: Rows, code_rows: Rows) -> Doubles:
        """Return (pairs, encoders) scores with the codes of one block, computed by all threads."""
        found = np.empty((len(rows), len(self._queries)))
        step = -(-len(rows) // THREADS)
        parts = [slice(start, start + step) for start in range(0, len(rows), max(step, 1))]

        def score(part: slice) -> None:
            for column, (name, queries) in enumerate(self._queries.items()):
                found[part, column] = scores_of_pairs(
                    queries, vectors[name], rows[part], code_rows[part], self._exact
                )

        for _ in self.threads.map(score, parts):
            pass
        return found

    def _score_equal(self, vectors: Mapping[str, Floats], rows: Rows, code_rows: Rows) -> Doubles:
        """Return what `_score_block` does, after scoring a query once with all equal codes."""
        chosen, row_of = np.unique(code_rows, return_inverse=True)
        joined = np.hstack([vectors[name][chosen] for name in self._queries])
        content = np.ascontiguousarray(joined).view(f"V{joined.shape[1] * joined.itemsize}")
        _, vector_of = np.unique(content[:, 0], return_inverse=True)
        keys = rows * len(chosen) + vector_of[row_of]
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        found: Doubles = self._score_block(vectors, rows[first], code_rows[first])[back]
        return found
