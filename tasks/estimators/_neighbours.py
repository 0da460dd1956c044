"""The nearest items of each query by exact cosine."""

from dataclasses import dataclass

import numpy as np

from infra.errors import EstimationError
from tasks.estimators._pairs import Floats
from tasks.search.one_pass import Method, OnePass
from tasks.search.pairs import THREADS, PairScorer, in_memory, search_threads
from tasks.search.products import NumpyProducts
from tasks.search.scores import Rows, cosines, unit_singles
from tasks.statistics import Values


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest items of each query, nearest first; equally near ones by rising row.

    Attributes:
        rows: (queries, k) rows of the items.
        similarities: (queries, k) cosines, falling.
    """

    rows: Rows
    similarities: Values

    def first(self, k: int) -> "Neighbours":
        """Return the k nearest of each."""
        return Neighbours(self.rows[:, :k], self.similarities[:, :k])


def nearest(queries: Floats, items: Floats, k: int) -> Neighbours:
    """Return the k nearest items of each query; all items where there are fewer.

    Exact: no index, and ties are decided in double precision. Takes little more than the product
    of the two matrices, and memory for a block of it (`tests/bench/bench_kape.py`).

    Args:
        queries: (n, d) checked vectors (`check_vectors`).
        items: (m, d) checked vectors.
        k: At least 1.

    Raises:
        EstimationError: ``k`` is below 1, there are no items, or they have another dimension.
    """
    if k < 1:
        raise EstimationError(f"k = {k}: a query needs at least 1 neighbour")
    if not len(items):
        raise EstimationError("there is nothing to find neighbours among")
    if queries.shape[1] != items.shape[1]:
        raise EstimationError(
            f"vectors of {queries.shape[1]} and of {items.shape[1]} dimensions have no cosine: "
            "embed both by the same model"
        )
    asked, among = unit_singles(queries), unit_singles(items)
    with search_threads() as threads:
        scorer = PairScorer({"": queries}, in_memory({"": items}), threads, cosines)
        running = OnePass({"": asked}, scorer, k, method=Method(products=NumpyProducts(THREADS)))
        running.add(np.arange(len(items), dtype=np.int32), {"": among})
        hits = running.finish()
    return Neighbours(hits.positions.astype(np.int64), hits.similarities)
