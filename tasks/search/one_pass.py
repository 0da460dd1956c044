"""One exact search, which is given the codes block by block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from infra.errors import EncoderError
from tasks.search.held import Held
from tasks.search.pairs import THREADS, PairScorer
from tasks.search.products import Products, products_here
from tasks.search.scores import (
    OFF_UNIT,
    ROUNDING,
    Doubles,
    Floats,
    Positions,
    Rows,
    Singles,
    lengths_of,
    places,
)

_SORTED = 65_536  # candidates at once
_AGAIN = "remove its folder from the store's `vectors` and run `cosqa collect` again"


@dataclass(frozen=True, eq=False)
class Hits:
    """The best codes of each query, best first; k or, where there are fewer codes, all of them.

    Attributes:
        positions: (queries, k)
        cosines: (queries, k, encoders) inner products, which are cosines of unit vectors.
        similarities: (queries, k) means of the weighted products, falling; equal ones by position.
    """

    positions: Positions
    cosines: Doubles
    similarities: Doubles


@dataclass(frozen=True)
class Method:
    """How codes are scored.

    Attributes:
        absolute: Whether absolute values count.
        products: The processor; None takes a GPU where there is one.
    """

    absolute: bool = False
    products: Products[Any] | None = None


class OnePass:
    """The search for the k best codes of each query, to which blocks are added.

    Args:
        queries: Encoder → (n, d) vectors; if these have unit length, so have those of the codes.
        scorer: Scores candidates in double precision; its threads compute beside the products.
        k: At least 1.
        weights: (n, encoders) factors of the products before the mean; None are 1.
        method: How codes are scored.
    """

    def __init__(
        self,
        queries: Mapping[str, Floats],
        scorer: PairScorer,
        k: int,
        weights: Doubles | None = None,
        method: Method | None = None,
    ) -> None:
        method = method or Method()
        self._queries = queries
        self._k = k
        self._scorer = scorer
        self._absolute = method.absolute
        self._products: Products[Any] = method.products or products_here(THREADS)
        self._number = len(next(iter(queries.values())))
        self._weights = np.ones((self._number, len(queries))) if weights is None else weights
        self._seen = 0
        self._joined = np.empty((0, 0), np.float32)
        self._are_unit = all(
            np.all(np.abs(lengths_of(rows) - 1) <= OFF_UNIT) for rows in queries.values()
        )
        self._longest = len(queries) ** 0.5 if self._are_unit else 0.0
        self._blocks = self._start()

    def add(self, positions: Positions, vectors: Mapping[str, Floats]) -> None:
        """Take the best of a block of codes.

        Args:
            positions: (m,)
            vectors: Encoder → (m, d)

        Raises:
            EncoderError: A vector is not finite, or the dimensions are not those of the queries.
        """
        self._check_dimensions(vectors)
        self._seen += len(positions)
        size = self._products.codes_at_once
        for start in range(0, len(positions), size):
            here = slice(start, start + size)
            some = positions[here]
            joined = self._join([vectors[name][here] for name in self._queries])
            self._widen(joined)
            codes = self._products.put(joined)
            for block in self._blocks:
                scores = self._products.multiply(block.queries, codes, absolute=self._absolute)
                if not np.isfinite(self._products.column_scores(scores)).all():
                    _refuse_infinite(some, {name: vectors[name][here] for name in self._queries})
                self._hold(scores, some, block.parts)
                self._settle(block.parts)

    def finish(self) -> Hits:
        """Return the best of all blocks."""
        rows, positions = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        for block in self._blocks:
            for part in block.parts:
                found = part.held.candidates()
                rows.append(found[0] + part.first)
                positions.append(found[1])
            block.parts.clear()
        return self._best(np.concatenate(rows), np.concatenate(positions))

    def _start(self) -> "list[_Block]":
        """Return the queries in blocks on the processor, each in parts that hold candidates."""
        for name, rows in self._queries.items():
            if not np.isfinite(rows).all():
                raise EncoderError(f"{name!r} gave a query no finite vector: {_AGAIN}")
        matrix = _weighted(self._queries, self._weights)
        self._rounding = ROUNDING * lengths_of(matrix)
        size, part = self._products.queries_at_once, self._products.part
        blocks = []
        for start in range(0, self._number, size):
            stop = min(start + size, self._number)
            parts = [
                _Part(
                    at,
                    start,
                    Held(self._k, self._longest * self._rounding[at : min(at + part, stop)]),
                )
                for at in range(start, stop, part)
            ]
            blocks.append(_Block(self._products.put(matrix[start:stop]), parts))
        return blocks

    def _widen(self, codes: Singles) -> None:
        """Make the bounds those of the longest codes so far, by which the rounding grows."""
        longest = 0.0 if self._are_unit else float(lengths_of(codes).max(initial=0))
        if longest <= self._longest:
            return
        self._longest = longest
        for part in (part for block in self._blocks for part in block.parts):
            here = slice(part.first, part.first + len(part.held.bounds))
            part.held.widen(longest * self._rounding[here])

    def _hold(self, scores: object, positions: Positions, parts: "Sequence[_Part]") -> None:
        """Hold what passes of a product, each part by a thread."""

        def hold(part: _Part) -> None:
            rows, columns, values = self._products.passing(scores, part.within, part.held)
            part.held.add(rows, positions[columns], values)

        several = self._products.threads > 1
        for _ in self._scorer.threads.map(hold, parts) if several else map(hold, parts):
            pass

    def _settle(self, parts: "Sequence[_Part]") -> None:
        """Score in double precision where more candidates are equal than there is room for."""
        for part in parts:
            if part.held.is_crowded:
                part.held.settle(partial(self._exact_similarities, part.first))

    def _exact_similarities(self, first: int, rows: Rows, positions: Positions) -> Doubles:
        rows = rows + first
        return self._similarities(rows, self._scorer.score(rows, positions, repeated=True))

    def _similarities(self, rows: Rows, cosines: Doubles) -> Doubles:
        """Return the means of candidates' weighted cosines, by which they are ranked."""
        means: Doubles = (cosines * self._weights[rows]).mean(axis=1)
        return np.abs(means) if self._absolute else means

    def _best(self, rows: Rows, positions: Positions) -> Hits:
        """Return the k best of each query among candidates, which are given query by query."""
        cosines = self._scorer.score(rows, positions)
        similarities = self._similarities(rows, cosines)
        shape = self._number, min(self._k, self._seen)
        hits = Hits(
            np.empty(shape, np.int32), np.empty((*shape, len(self._queries))), np.empty(shape)
        )
        starts = np.searchsorted(rows, np.arange(self._number + 1))

        def fill(first: int) -> None:
            last = min(first + step, self._number)
            here = slice(starts[first], starts[last])
            order = np.lexsort((positions[here], -similarities[here], rows[here])) + starts[first]
            chosen = order[places(rows[order]) < shape[1]].reshape(last - first, shape[1])
            hits.positions[first:last] = positions[chosen]
            hits.cosines[first:last] = cosines[chosen]
            hits.similarities[first:last] = similarities[chosen]

        step = max(1, _SORTED // max(shape[1], 1))
        for _ in self._scorer.threads.map(fill, range(0, self._number, step)):
            pass
        return hits

    def _join(self, vectors: Sequence[Floats]) -> Singles:
        """Return the encoders' vectors side by side, in a buffer that the next ones overwrite."""
        if len(vectors) == 1:
            return vectors[0].astype(np.float32, copy=False)
        if not self._joined.size:
            width = sum(rows.shape[1] for rows in vectors)
            self._joined = np.empty((self._products.codes_at_once, width), np.float32)
        joined: Singles = np.concatenate(vectors, axis=1, out=self._joined[: len(vectors[0])])
        return joined

    def _check_dimensions(self, vectors: Mapping[str, Floats]) -> None:
        for name, queries in self._queries.items():
            if queries.shape[1] != vectors[name].shape[1]:
                raise EncoderError(
                    f"{name!r} gave vectors of {queries.shape[1]} dimensions for "
                    f"queries and of {vectors[name].shape[1]} for codes: {_AGAIN}"
                )


@dataclass(frozen=True)
class _Part:
    """Some queries, by the numbers of the first and of their block's first, with candidates."""

    first: int
    block_first: int
    held: Held

    @property
    def within(self) -> slice:
        """Their rows in the block."""
        start = self.first - self.block_first
        return slice(start, start + len(self.held.bounds))


@dataclass(frozen=True)
class _Block:
    """Queries that are multiplied at once: the processor's matrix and its parts."""

    queries: Any
    parts: list[_Part]


def _weighted(queries: Mapping[str, Floats], weights: Doubles) -> Singles:
    """Return the encoders' vectors of the queries side by side, each times its weight."""
    if len(queries) == 1 and (weights == 1).all():
        return next(iter(queries.values())).astype(np.float32, copy=False)
    rows = zip(queries.values(), weights.T, strict=True)
    return np.hstack([(some * factors[:, None]).astype(np.float32) for some, factors in rows])


def _refuse_infinite(positions: Positions, vectors: Mapping[str, Floats]) -> None:
    for name, rows in vectors.items():
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            raise EncoderError(
                f"{name!r} gave no finite vector for {len(wrong)} codes, the first of "
                f"which is number {positions[wrong[0]] + 1} by rising id: {_AGAIN}"
            )
