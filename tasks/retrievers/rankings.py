"""Ranked lists, compactly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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


def rankings_of(run: Mapping[str, Mapping[str, float]]) -> Rankings:
    """Return rankings from query → code → score, whatever the order of either."""
    queries = [query for query, scores in run.items() for _ in scores]
    codes = [code for scores in run.values() for code in scores]
    values = [score for scores in run.values() for score in scores.values()]
    return rank_rows(
        pa.array(queries, pa.string()), pa.array(codes, pa.string()), np.array(values, np.float64)
    )


def rank_rows(queries: pa.Array, codes: pa.Array, scores: npt.NDArray[np.float64]) -> Rankings:
    """Return rankings from columns of a run, whatever the order of its rows.

    Args:
        queries: (n,) strings.
        codes: (n,) strings, each once for a query.
        scores: (n,) higher is better.

    Raises:
        ValueError: A query has a code twice, or a score is not a number.
    """
    query_ids, rows = _numbered(queries)
    code_ids, columns = _numbered(codes)
    if np.isnan(scores).any():
        raise ValueError("a score is not a number")
    order = np.lexsort((columns, -scores, rows))
    rows, columns, scores = rows[order], columns[order], scores[order]
    sizes = np.bincount(rows, minlength=len(query_ids))
    ranks = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    _refuse_repeated(query_ids, code_ids, rows, columns)
    ranked = np.full((len(query_ids), int(sizes.max(initial=0))), NOTHING)
    ranked_scores = np.zeros(ranked.shape)
    ranked[rows, ranks], ranked_scores[rows, ranks] = columns, scores
    return Rankings(query_ids, code_ids, ranked, ranked_scores)


def _numbered(names: pa.Array) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the distinct names in ascending order, and each name's place among them."""
    distinct = pc.unique(names)
    distinct = distinct.take(pc.sort_indices(distinct))
    places = pc.index_in(names, distinct).to_numpy(zero_copy_only=False)
    return distinct.to_pylist(), places.astype(np.int64)


def _refuse_repeated(
    query_ids: Sequence[str],
    code_ids: Sequence[str],
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
) -> None:
    pairs = np.sort(rows * len(code_ids) + columns)
    repeated = pairs[1:][pairs[1:] == pairs[:-1]]
    if repeated.size:
        row, column = divmod(int(repeated[0]), len(code_ids))
        raise ValueError(f"query {query_ids[row]!r} has code {code_ids[column]!r} twice")
