"""Exact search over vectors: one pass over the codes, whatever the number of queries.

Codes are scored by the inner products of their vectors, which are cosines where these are of unit
length. The mean of several encoders' cosines, each by its weight, is one inner product of their
concatenated vectors divided by their number, so one search serves any ensemble. Each block of codes
is multiplied with all queries in single precision; what may be among the k best of a query is held,
and read once more at the end, to be scored in double precision. Equal scores fall by position.
"""

from collections.abc import Mapping

import numpy as np

from tasks.search.one_pass import Hits, Method, OnePass
from tasks.search.pairs import Codes, PairScorer, search_threads
from tasks.search.scores import Doubles, Floats


def search(
    queries: Mapping[str, Floats],
    codes: Codes,
    k: int,
    weights: Mapping[str, Doubles] | None = None,
    method: Method | None = None,
) -> Hits:
    """Return for each query the ``k`` codes with the highest mean cosine over the encoders.

    Args:
        queries: Encoder → (n, d) vectors, of unit length where those of the codes are.
        codes: The vectors of the codes by the same encoders.
        k: At least 1.
        weights: Encoder → (n,) factors of its cosines before the mean; None are 1.
        method: How codes are scored.

    Raises:
        EncoderError: A vector is not finite, or the dimensions of queries and codes differ.
    """
    factors = None if weights is None else np.stack([weights[name] for name in queries], axis=1)
    with search_threads() as threads:
        running = OnePass(queries, PairScorer(queries, codes, threads), k, factors, method)
        for positions, vectors in codes():
            running.add(positions, vectors)
        return running.finish()


def search_apart(
    queries: Mapping[str, Floats], codes: Codes, k: int, method: Method | None = None
) -> dict[str, Hits]:
    """Return encoder → what `search` finds by it alone, in one pass over the codes for all."""
    with search_threads() as threads:
        running = {}
        for name, rows in queries.items():
            scorer = PairScorer({name: rows}, codes, threads)
            running[name] = OnePass({name: rows}, scorer, k, method=method)
        for positions, vectors in codes():
            for name, one in running.items():
                one.add(positions, {name: vectors[name]})
        return {name: one.finish() for name, one in running.items()}


def inverse_peaks(queries: Mapping[str, Floats], codes: Codes) -> dict[str, Doubles]:
    """Return encoder → (n,) 1 / the largest absolute cosine of each query with any code.

    As weights of `search` they divide each encoder's scores of a query by their largest absolute
    value, which the code of CoSQA+'s authors does before it sums them. 1 where all are 0.
    """
    peaks = {
        name: np.abs(hits.cosines[:, :1, 0]).sum(axis=1)
        for name, hits in search_apart(queries, codes, 1, Method(absolute=True)).items()
    }
    return {name: 1 / np.where(found > 0, found, 1.0) for name, found in peaks.items()}


def queries_at_once(dimensions: int, encoders: int, k: int, memory_mb: int) -> int:
    """Return for how many queries one pass over the codes takes at most so much memory.

    The block of codes that is read and its scores, some 64 MB each, come on top.

    Args:
        dimensions: Of all encoders together.
        encoders: How many are joined.
        k: Codes for each query.
        memory_mb: Memory in MB.
    """
    vectors = 4 * dimensions * (2 if encoders > 1 else 1)
    held = 8 * (2 * k + 128)
    scored = k * (40 + 8 * encoders)  # rows, positions, orders and scores of candidates
    results = k * (12 + 8 * encoders)
    return max(1, memory_mb * 1_000_000 // (vectors + held + scored + results))
