"""Rankings from a table of scores."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.benchmarks.runs import Rankings, best


def rank_scores(
    query_ids: Sequence[str],
    code_ids: Sequence[str],
    scores: npt.NDArray[np.floating],
    depth: int,
) -> Rankings:
    """Return rankings from a full table of scores.

    Args:
        query_ids: (n,) one for each row.
        code_ids: (m,) one for each column, in ascending order, so that ties fall by id.
        scores: (n, m) higher is better.
        depth: Length of the rankings.
    """
    depth = min(depth, len(code_ids))
    order = np.array([best(row, depth) for row in scores], np.int32).reshape(-1, depth)
    ranked = np.take_along_axis(scores, order, axis=1).astype(np.float64)
    return Rankings(query_ids, code_ids, order, ranked)
