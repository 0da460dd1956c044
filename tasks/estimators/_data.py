"""Input and output of estimators: vectors of pairs, ranks, neighbours, measures, estimates."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from infra.errors import EstimationError, UnknownNameError
from tasks.encoders import Similarity
from tasks.search.exact import CODES, QUERIES, search
from tasks.search.scores import (
    ROUNDING,
    Block,
    Rows,
    cosines,
    in_memory,
    inner_products,
    lengths_of,
    scores_of_pairs,
    unit_singles,
)
from tasks.statistics import Values

Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Ranks = Rows
Positions = Sequence[int] | npt.NDArray[np.int64]
Measure = Callable[[npt.NDArray[np.int64]], Values]

MEASURES = ("MRR", "Answered@5", "NDCG@10", "Recall@10")
_CUT = re.compile(r"(Answered|Recall|NDCG)@([1-9][0-9]{0,8})")
_CELLS_AT_ONCE = 16_000_000
_CLASSES = 10  # codes that a query's probabilities are over


@dataclass(frozen=True)
class PairVectors:
    """Pairs of query and code, as a model embeds them.

    Attributes:
        queries: (pairs, d) vectors.
        codes: (pairs, d) vectors; each row answers the query of the same row.
        similarity: By which the model ranks codes.

    Raises:
        EstimationError: A vector has no cosine.
    """

    queries: Floats
    codes: Floats
    similarity: Similarity = field(default="cosine", kw_only=True)

    def __post_init__(self) -> None:
        check_vectors("queries", self.queries)
        check_vectors("codes", self.codes)

    def __len__(self) -> int:
        return len(self.queries)

    def rows(self, rows: npt.NDArray[np.int64]) -> "PairVectors":
        """Return chosen pairs, repeats allowed."""
        return replace(self, queries=self.queries[rows], codes=self.codes[rows])


def check_vectors(name: str, vectors: Floats) -> None:
    """Refuse vectors that have no cosine.

    Args:
        name: Of the rows, for the message.
        vectors: (n, d)

    Raises:
        EstimationError: A row has a NaN, an infinity or nothing but zeros.
    """
    step = max(1, _CELLS_AT_ONCE // max(1, vectors.shape[1]))
    bad: list[int] = []
    for start in range(0, len(vectors), step):
        squares = np.square(vectors[start : start + step], dtype=np.float64).sum(axis=1)
        bad += (start + np.flatnonzero(~np.isfinite(squares) | (squares == 0))).tolist()
    if bad:
        raise EstimationError(
            f"vectors of {name}: {len(bad):,} of {len(vectors):,} rows are zero or hold NaN or "
            f"infinity, row {bad[0]:,} first: embed these texts again"
        )


def ranks_among(pairs: PairVectors, rows: Rows | None = None) -> Ranks:
    """Return the rank of each pair's own code among the codes of the list, by its similarity.

    The rank is 1 + the number of other pairs whose code scores at least as high, so ties count
    against a pair, and a repeated pair ties with itself (KAPE, Algorithm 1; CodeXGLUE's evaluator).

    Args:
        pairs: The pairs.
        rows: (n,) the list as rows of ``pairs``, repeats allowed; None is all of them, once.

    Returns:
        (n,) ranks from 1.
    """
    chosen = np.arange(len(pairs)) if rows is None else rows
    distinct, place, times = np.unique(chosen, return_inverse=True, return_counts=True)
    return _ranks(pairs.rows(distinct), times)[place]


def _ranks(pairs: PairVectors, times: Rows) -> Ranks:
    """Return the ranks of distinct pairs, each of which is in the list ``times`` times.

    Scores within rounding of a pair's own score are computed again in double precision.
    """
    import torch  # noqa: PLC0415 - takes two seconds, which commands without an estimate save

    is_cosine = pairs.similarity == "cosine"
    exact = cosines if is_cosine else inner_products
    asked, among = (
        unit_singles(rows) if is_cosine else rows.astype(np.float32, copy=False)
        for rows in (pairs.queries, pairs.codes)
    )
    everything = np.arange(len(pairs))
    own = scores_of_pairs(pairs.queries, pairs.codes, everything, everything, exact)
    rounding = ROUNDING * lengths_of(asked) * lengths_of(among).max(initial=0)
    ranks = np.zeros(len(pairs), np.int64)
    often = torch.from_numpy(times.astype(np.float64))
    queries, codes = torch.tensor(asked), torch.tensor(among)
    above = torch.tensor((own + rounding).astype(np.float32))[:, None]
    below = torch.tensor((own - rounding).astype(np.float32))[:, None]
    for first in range(0, len(pairs), QUERIES):
        for start in range(0, len(pairs), CODES):
            some, here = slice(first, first + QUERIES), slice(start, start + CODES)
            scores = queries[some] @ codes[here].T
            is_above = scores > above[some]
            ranks[some] += (is_above.double() @ often[here]).long().numpy()
            rows, columns = (~is_above & (scores >= below[some])).nonzero().numpy().T
            rows, columns = rows + first, columns + start
            is_as_high = own[rows] <= scores_of_pairs(
                pairs.queries, pairs.codes, rows, columns, exact
            )
            ranks += np.bincount(rows, times[columns] * is_as_high, len(ranks)).astype(np.int64)
    return ranks


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest items of each query, nearest first; equally near ones by rising row.

    Attributes:
        rows: (queries, k) rows of the items.
        similarities: (queries, k) cosines or products, falling.
    """

    rows: Rows
    similarities: Values

    def first(self, k: int) -> "Neighbours":
        """Return the k nearest of each."""
        return Neighbours(self.rows[:, :k], self.similarities[:, :k])


def nearest(
    queries: Floats, items: Floats, k: int, similarity: Similarity = "cosine"
) -> Neighbours:
    """Return the k nearest items of each query; all items where there are fewer.

    Exact: no index, and ties are decided in double precision. Takes little more than the product
    of the two matrices, and memory for a block of it.

    Args:
        queries: (n, d) checked vectors (`check_vectors`).
        items: (m, d) checked vectors.
        k: At least 1.
        similarity: How near an item is.
    """
    if similarity == "product":
        hits = search({"": queries}, in_memory({"": items}), k)
    else:

        def units(wanted: npt.NDArray[np.int32] | None = None) -> Iterator[Block]:
            rows = np.arange(len(items), dtype=np.int32) if wanted is None else wanted
            for start in range(0, len(rows), CODES):
                some = rows[start : start + CODES]
                yield some, {"": _unit(items[some])}

        hits = search({"": _unit(queries)}, units, k)
    return Neighbours(hits.positions.astype(np.int64), hits.similarities)


def _unit(rows: Floats) -> Values:
    """Return (n, d) rows of unit length in double precision."""
    return rows / np.sqrt(inner_products(rows, rows))[:, None]


def measure_named(name: str) -> Measure:
    """Return a measure: ranks from 1, of any shape → values in [0, 1] of the same shape.

    With one relevant code a query, each metric of `tasks.metrics` is a function of its rank.

    Args:
        name: MRR, or Answered@k, Recall@k or NDCG@k with k below 1,000,000,000; with one relevant
            code the first two of these are the same.

    Raises:
        UnknownNameError: There is no such measure.
    """
    if name == "MRR":
        return lambda ranks: 1.0 / ranks
    match = _CUT.fullmatch(name)
    if not match:
        raise UnknownNameError(
            f"{name!r} cannot be estimated: MRR, Answered@k, Recall@k and NDCG@k can"
        )
    depth = int(match[2])
    if match[1] == "NDCG":  # the ideal gain of one relevant code is 1 (Järvelin 2002)
        return lambda ranks: np.where(ranks <= depth, 1 / np.log2(1.0 + ranks), 0.0)
    return lambda ranks: (ranks <= depth).astype(float)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Ranks of codes; each row stands for one test query.

    Attributes:
        ranks: (rows, columns) from 1.
        weights: (rows, columns); the sum of each row is 1.
    """

    ranks: Ranks
    weights: Values

    @classmethod
    def of(cls, ranks: Ranks) -> Self:
        """Return the plain mean over (rows,) ranks."""
        column = ranks.reshape(-1, 1)
        return cls(column, np.ones(column.shape))

    def by_row(self, measure: str) -> Values:
        """Return (rows,) values of a measure: for KAPE one for each test query."""
        values: Values = (measure_named(measure)(self.ranks) * self.weights).sum(axis=1)
        return values

    def mean(self, measure: str) -> float:
        """Return the estimated mean of a measure over all test queries."""
        return float(self.by_row(measure).mean())


class EstimationData:
    """Test queries without labels, and the pairs that the model was trained on.

    Args:
        training: The training pairs.
        queries: (n, d) vectors of the test queries.
        label: Positions of distinct test queries → the ranks of their codes among the codes of
            these queries alone. It stands for the work of labelling them.

    Raises:
        EstimationError: There are no training pairs or no queries, or a vector has no cosine.
    """

    def __init__(
        self, training: PairVectors, queries: Floats, label: Callable[[Positions], Ranks]
    ) -> None:
        if not len(training):
            raise EstimationError("there are no training pairs: an estimate rests on them")
        if not len(queries):
            raise EstimationError("there are no queries whose scores could be estimated")
        check_vectors("test queries", queries)
        self.training = training
        self.queries = queries
        self.label = label
        self._neighbours: Neighbours | None = None
        self._ranks = np.empty((len(queries), 0), np.int64)

    @classmethod
    def of_pairs(cls, training: PairVectors, test: PairVectors) -> "EstimationData":
        """Return test queries whose codes are known, for a study of estimators."""
        return cls(training, test.queries, lambda rows: ranks_among(test, np.asarray(rows)))

    def part(self, rows: npt.NDArray[np.int64]) -> "EstimationData":
        """Return some of the queries, in this order, with their neighbours and probabilities.

        Their codes are ranked among the part's own.
        """
        found = EstimationData(
            self.training, self.queries[rows], lambda some: self.label(rows[np.asarray(some)])
        )
        if self._neighbours is not None:
            known = self._neighbours
            found._neighbours = Neighbours(known.rows[rows], known.similarities[rows])
        if "probabilities" in vars(self):
            found.probabilities = self.probabilities[rows]
        return found

    def nearest(self, k: int) -> Neighbours:
        """Return the k nearest training queries of each test query, all where there are fewer."""
        wanted = min(k, len(self.training))
        if self._neighbours is None or self._neighbours.rows.shape[1] < wanted:
            self._neighbours = nearest(self.queries, self.training.queries, k)
        return self._neighbours.first(wanted)

    def neighbour_ranks(self, k: int) -> Ranks:
        """Return (n, k) ranks: column r has the pairs of the r-th neighbours, ranked among these.

        Each subset is ranked among its own codes only (KAPE, Algorithm 1).
        """
        rows = self.nearest(k).rows
        for r in range(self._ranks.shape[1], rows.shape[1]):
            column = ranks_among(self.training, rows[:, r])
            self._ranks = np.column_stack([self._ranks, column])
        return self._ranks[:, : rows.shape[1]]

    @cached_property
    def probabilities(self) -> Values:
        """(n, 10) softmax of each query's ten best similarities to training codes, falling."""
        training = self.training
        best = nearest(self.queries, training.codes, _CLASSES, training.similarity).similarities
        powers = np.exp(best - best[:, :1])
        probabilities: Values = powers / powers.sum(axis=1, keepdims=True)
        return probabilities
