"""Ranked lists, compactly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

NOTHING = -1


@dataclass(frozen=True)
class Rankings:
    """What a method returned for each query, best first, ties by code id in ascending order.

    Attributes:
        query_ids: One for each row.
        code_ids: What the columns' numbers mean.
        codes: (queries, depth) positions in ``code_ids``; -1 where the ranking has ended.
        scores: (queries, depth) the method's own scores, higher is better.
    """

    query_ids: Sequence[str]
    code_ids: Sequence[str]
    codes: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]

    @property
    def depth(self) -> int:
        """The longest a ranking can be."""
        return int(self.codes.shape[1])

    def rows(self) -> Iterator[tuple[str, str, float]]:
        """Yield (query, code, score), grouped by query, best first."""
        for query, codes, scores in zip(self.query_ids, self.codes, self.scores, strict=True):
            for code, score in zip(codes.tolist(), scores.tolist(), strict=True):
                if code != NOTHING:
                    yield query, self.code_ids[code], score


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
    order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    ranked = np.take_along_axis(scores, order, axis=1).astype(np.float64)
    return Rankings(query_ids, code_ids, order, ranked)
