"""Exact search over unit vectors, in blocks of codes, so that memory stays bounded.

The average of several encoders' cosines is one inner product of their concatenated unit vectors
divided by their number, so one search serves any ensemble. FAISS returns more
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
    """The best codes so far: (queries, n) ids and (queries, n, encoders) cosines, n at most k."""

    ids: npt.NDArray[np.str_]
    cosines: Scores


def top_candidates(
    query_vectors: Mapping[str, Vectors],
    code_blocks: Iterable[tuple[Sequence[str], Mapping[str, Vectors]]],
    query_ids: Sequence[str],
    k: int,
) -> list[Candidate]:
    """Return for each query the ``k`` codes with the highest average cosine over the encoders.

    Args:
        query_vectors: Encoder → (n, d) unit vectors of the queries.
        code_blocks: (m ids, encoder → (m, d) unit vectors), block by block.
        query_ids: (n,) in the order of the vectors.
        k: How many; fewer where there are fewer codes.
    """
    names = list(query_vectors)
    hits = _search(query_vectors, code_blocks, k)
    return [
        Candidate(
            query_id=query,
            code_id=str(code),
            rank=rank,
            similarity=float(cosines.mean()),
            by_encoder=dict(zip(names, cosines.tolist(), strict=True)),
        )
        for query, ids, rows in zip(query_ids, hits.ids, hits.cosines, strict=True)
        for rank, (code, cosines) in enumerate(zip(ids, rows, strict=True), start=1)
    ]


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
        hits.cosines.mean(axis=2),
    )


def _search(
    query_vectors: Mapping[str, Vectors],
    code_blocks: Iterable[tuple[Sequence[str], Mapping[str, Vectors]]],
    k: int,
) -> _Hits:
    queries = len(next(iter(query_vectors.values())))
    hits = _Hits(
        np.empty((queries, 0), np.str_), np.empty((queries, 0, len(query_vectors)), np.float64)
    )
    for ids, code_vectors in code_blocks:
        if len(ids):
            hits = _merge(hits, _search_block(query_vectors, ids, code_vectors, k), k)
    return hits


def _search_block(
    query_vectors: Mapping[str, Vectors],
    ids: Sequence[str],
    code_vectors: Mapping[str, Vectors],
    k: int,
) -> _Hits:
    rows = _nearest(
        np.hstack([query_vectors[name] for name in query_vectors]),
        np.hstack([code_vectors[name] for name in query_vectors]),
        k,
    )
    cosines = np.stack(
        [_cosines(query_vectors[name], code_vectors[name], rows) for name in query_vectors],
        axis=2,
    )
    return _best(_Hits(np.asarray(ids, np.str_)[rows], cosines), k)


def _nearest(queries: Vectors, codes: Vectors, k: int) -> npt.NDArray[np.int64]:
    """Return (n, at least k) rows of ``codes`` that surely hold the k best, ties included."""
    wanted = min(k + _SPARE, len(codes))
    while True:
        scores, rows = faiss.knn(queries, codes, wanted, metric=faiss.METRIC_INNER_PRODUCT)
        if wanted == len(codes) or np.all(scores[:, k - 1] - scores[:, -1] > _ROUNDING):
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
    return _best(_Hits(np.hstack([one.ids, other.ids]), np.hstack([one.cosines, other.cosines])), k)


def _best(hits: _Hits, k: int) -> _Hits:
    """Return the k best of each row, by falling average, then by rising id."""
    order = np.lexsort((hits.ids, -hits.cosines.mean(axis=2)), axis=1)[:, :k]
    return _Hits(
        np.take_along_axis(hits.ids, order, axis=1),
        np.take_along_axis(hits.cosines, order[:, :, None], axis=1),
    )
