"""Rankings of codes by the similarity of encoders' vectors, found exactly."""

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.benchmarks.runs import Rankings
from tasks.search.exact import queries_at_once, search
from tasks.search.pairs import Codes
from tasks.search.scores import Singles


def rank_vectors(
    query_vectors: Mapping[str, Singles],
    codes: Codes,
    query_ids: Sequence[str],
    code_ids: Sequence[str],
    depth: int,
    memory_mb: int = 2_048,
) -> Rankings:
    """Return the ``depth`` codes with the highest mean similarity for each query.

    Args:
        query_vectors: Encoder → (n, d) vectors.
        codes: The vectors of the codes by the same encoders.
        query_ids: (n,) in the order of the vectors.
        code_ids: Ids in ascending order, to which the codes' positions refer.
        depth: Length of the rankings.
        memory_mb: Memory of one pass over the codes; more queries than fit take several.
    """
    deepest = min(depth, len(code_ids))
    positions = np.empty((len(query_ids), deepest), np.int32)
    scores = np.empty((len(query_ids), deepest))
    dimensions = sum(rows.shape[1] for rows in query_vectors.values())
    step = queries_at_once(dimensions, len(query_vectors), depth, memory_mb)
    for start in range(0, len(query_ids), step):
        here = slice(start, start + step)
        hits = search({name: rows[here] for name, rows in query_vectors.items()}, codes, depth)
        positions[here], scores[here] = hits.positions, hits.similarities
    return Rankings(query_ids, code_ids, positions, scores)
