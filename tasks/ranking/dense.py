"""Exact search over unit vectors, in blocks of codes, so that memory stays bounded.

The average of several encoders' cosines, each by its weight, is one inner product of their
concatenated vectors divided by their number, so one search serves any ensemble. FAISS returns more
hits than are wanted; they are scored again in double precision, which makes equal vectors tie
exactly in any order of summation inside the BLAS, and ties are broken by code id.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import faiss
import numpy as np
import numpy.typing as npt

from infra.records import Candidate
from tasks.benchmarks.runs import Rankings
from tasks.encoders import Vectors

Scores = npt.NDArray[np.float64]
_SPARE = 16
# Twice the rounding error of a float32 inner product of unit vectors with some thousand dimensions.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class _Hits:
    """The best codes so far: (queries, n) ids and (queries, n, encoders) cosines, n at most k.

    ``weights`` are the (queries, encoders) factors of the cosines in the mean.
    """

    ids: npt.NDArray[np.str_]
    cosines: Scores
    weights: Scores

    @property
    def similarities(self) -> Scores:
        """(queries, n) weighted means, by which the codes are ranked."""
        means: Scores = (self.cosines * self.weights[:, None, :]).mean(axis=2)
        return means


def top_candidates(
    query_vectors: Mapping[str, Vectors],
    code_blocks: Iterable[tuple[Sequence[str], Mapping[str, Vectors]]],
    query_ids: Sequence[str],
    k: int,
    weights: Mapping[str, Scores] | None = None,
) -> list[Candidate]:
    """Return for each query the ``k`` codes with the highest average cosine over the encoders.

    Args:
        query_vectors: Encoder → (n, d) unit vectors of the queries.
        code_blocks: (m ids, encoder → (m, d) unit vectors), block by block.
        query_ids: (n,) in the order of the vectors.
        k: How many; fewer where there are fewer codes.
        weights: Encoder → (n,) factors of its cosines before they are averaged; none are 1.
    """
    names = list(query_vectors)
    factors = np.stack([weights[name] for name in names], axis=1) if weights else None
    hits = _search(query_vectors, code_blocks, k, factors)
    return [
        Candidate(
            query_id=query,
            code_id=str(code),
            rank=rank,
            similarity=float(similarity),
            by_encoder=dict(zip(names, cosines.tolist(), strict=True)),
        )
        for query, *found in zip(query_ids, hits.ids, hits.cosines, hits.similarities, strict=True)
        for rank, (code, cosines, similarity) in enumerate(zip(*found, strict=True), start=1)
    ]


def inverse_peaks(
    query_vectors: Mapping[str, Vectors],
    code_blocks: Iterable[tuple[Sequence[str], Mapping[str, Vectors]]],
) -> dict[str, Scores]:
    """Return encoder → (n,) 1 / the largest absolute cosine of each query with any code.

    As weights of `top_candidates` they divide each encoder's scores of a query by their largest
    absolute value, which the code of CoSQA+'s authors does before it sums them.
    """
    peaks = {name: np.zeros(len(rows)) for name, rows in query_vectors.items()}
    for ids, code_vectors in code_blocks:
        for name, queries in query_vectors.items() if len(ids) else ():
            for sign in (1, -1):  # the highest cosine, and the lowest
                _, rows = faiss.knn(
                    sign * queries, code_vectors[name], 1, metric=faiss.METRIC_INNER_PRODUCT
                )
                found = np.abs(_cosines(queries, code_vectors[name], rows)[:, 0])
                peaks[name] = np.maximum(peaks[name], found)
    return {name: 1 / np.where(found > 0, found, 1.0) for name, found in peaks.items()}


def rank_vectors(
    query_vectors: Vectors,
    code_blocks: Iterable[tuple[Sequence[str], Vectors]],
    query_ids: Sequence[str],
    depth: int,
) -> Rankings:
    """Return the ``depth`` codes with the highest cosine for each query, by one encoder.

    Args:
        query_vectors: (n, d) unit vectors.
        code_blocks: (m ids, (m, d) unit vectors), block by block.
        query_ids: (n,) in the order of the vectors.
        depth: Length of the rankings.
    """
    blocks = ((ids, {"": vectors}) for ids, vectors in code_blocks)
    hits = _search({"": query_vectors}, blocks, depth)
    code_ids, positions = np.unique(hits.ids, return_inverse=True)
    return Rankings(
        query_ids,
        code_ids.tolist(),
        positions.reshape(hits.ids.shape).astype(np.int64),
        hits.similarities,
    )


def _search(
    query_vectors: Mapping[str, Vectors],
    code_blocks: Iterable[tuple[Sequence[str], Mapping[str, Vectors]]],
    k: int,
    weights: Scores | None = None,
) -> _Hits:
    queries, encoders = len(next(iter(query_vectors.values()))), len(query_vectors)
    weights = np.ones((queries, encoders)) if weights is None else weights
    hits = _Hits(np.empty((queries, 0), np.str_), np.empty((queries, 0, encoders)), weights)
    for ids, code_vectors in code_blocks:
        if len(ids):
            hits = _merge(hits, _search_block(query_vectors, ids, code_vectors, k, weights), k)
    return hits


def _search_block(
    query_vectors: Mapping[str, Vectors],
    ids: Sequence[str],
    code_vectors: Mapping[str, Vectors],
    k: int,
    weights: Scores,
) -> _Hits:
    weighted = [
        (query_vectors[name] * factors[:, None]).astype(np.float32)
        for name, factors in zip(query_vectors, weights.T, strict=True)
    ]
    codes = np.hstack([code_vectors[name] for name in query_vectors])
    rows = _nearest(np.hstack(weighted), codes, k, _ROUNDING * max(1.0, float(weights.max())))
    cosines = np.stack(
        [_cosines(query_vectors[name], code_vectors[name], rows) for name in query_vectors],
        axis=2,
    )
    return _best(_Hits(np.asarray(ids, np.str_)[rows], cosines, weights), k)


def _nearest(queries: Vectors, codes: Vectors, k: int, rounding: float) -> npt.NDArray[np.int64]:
    """Return (n, at least k) rows of ``codes`` that surely hold the k best, ties included."""
    wanted = min(k + _SPARE, len(codes))
    while True:
        scores, rows = faiss.knn(queries, codes, wanted, metric=faiss.METRIC_INNER_PRODUCT)
        if wanted == len(codes) or np.all(scores[:, k - 1] - scores[:, -1] > rounding):
            hits: npt.NDArray[np.int64] = rows
            return hits
        wanted = min(2 * wanted, len(codes))


def _cosines(queries: Vectors, codes: Vectors, rows: npt.NDArray[np.int64]) -> Scores:
    """Return (n, m) inner products in double precision of each query with its own rows."""
    scores = np.empty(rows.shape, np.float64)
    for number, (query, chosen) in enumerate(zip(queries, rows, strict=True)):
        products = codes[chosen].astype(np.float64) * query.astype(np.float64)
        scores[number] = products.sum(axis=1)
    return scores


def _merge(one: _Hits, other: _Hits, k: int) -> _Hits:
    if not one.ids.shape[1]:
        return other
    ids, cosines = np.hstack([one.ids, other.ids]), np.hstack([one.cosines, other.cosines])
    return _best(_Hits(ids, cosines, one.weights), k)


def _best(hits: _Hits, k: int) -> _Hits:
    """Return the k best of each row, by falling average, then by rising id."""
    order = np.lexsort((hits.ids, -hits.similarities), axis=1)[:, :k]
    return _Hits(
        np.take_along_axis(hits.ids, order, axis=1),
        np.take_along_axis(hits.cosines, order[:, :, None], axis=1),
        hits.weights,
    )
