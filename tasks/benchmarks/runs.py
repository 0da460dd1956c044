"""Runs: the ranked lists of a method, as arrays."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]
Value = TypeVar("Value", np.int64, np.float64)
NOTHING = -1
_CELLS_AT_ONCE = 50_000_000


@dataclass(frozen=True)
class Rankings:
    """What a method returned for each query, best first, ties by code id in ascending order.

    Attributes:
        query_ids: One for each row.
        code_ids: The codes, to which the positions refer.
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
    order = np.array([_best(row, depth) for row in scores], np.int64).reshape(-1, depth)
    ranked = np.take_along_axis(scores, order, axis=1).astype(np.float64)
    return Rankings(query_ids, code_ids, order, ranked)


def rank_in_blocks(
    query_ids: Sequence[str],
    code_ids: Sequence[str],
    score: Callable[[slice], npt.NDArray[np.floating]],
    depth: int,
) -> Rankings:
    """Return rankings from a table of scores that is too large for memory.

    Args:
        query_ids: (n,) one for each row.
        code_ids: (m,) one for each column, in ascending order.
        score: Rows → (rows, m) scores of these queries; higher is better.
        depth: Length of the rankings.
    """
    step = max(1, _CELLS_AT_ONCE // max(len(code_ids), 1))
    starts = range(0, max(len(query_ids), 1), step)
    blocks = [slice(start, start + step) for start in starts]
    ranked = [rank_scores(query_ids[rows], code_ids, score(rows), depth) for rows in blocks]
    return Rankings(
        query_ids,
        code_ids,
        np.vstack([block.codes for block in ranked]),
        np.vstack([block.scores for block in ranked]),
    )


def _best(scores: npt.NDArray[np.floating], depth: int) -> Positions:
    """Return the positions of the highest scores, ties in rising order of position."""
    if depth < len(scores):
        lowest = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        positions = np.flatnonzero(scores >= lowest)
    else:
        positions = np.arange(len(scores))
    best: Positions = positions[np.argsort(-scores[positions], kind="stable")][:depth]
    return best


def rankings_of(run: Mapping[str, Mapping[str, float]]) -> Rankings:
    """Return rankings from query → code → score, in any order."""
    queries = [query for query, scores in run.items() for _ in scores]
    codes = [code for scores in run.values() for code in scores]
    values = [score for scores in run.values() for score in scores.values()]
    return rank_rows(
        pa.array(queries, pa.string()), pa.array(codes, pa.string()), np.array(values, np.float64)
    )


def rank_rows(
    queries: pa.Array | pa.ChunkedArray,
    codes: pa.Array | pa.ChunkedArray,
    scores: npt.NDArray[np.float64],
) -> Rankings:
    """Return rankings from columns of a run, its rows in any order; queries by id.

    Args:
        queries: (n,) strings.
        codes: (n,) strings, each once for a query.
        scores: (n,) higher is better.

    Raises:
        ValueError: A query has a code twice, or a score is not a number.
    """
    if np.isnan(scores).any():
        raise ValueError("a score is not a number")
    query_ids, rows = numbered(queries)
    code_ids, columns = numbered(codes)
    order = _order(rows, scores, columns, code_ids)
    if order is not None:
        rows, columns, scores = rows[order], columns[order], scores[order]
    sizes = np.bincount(rows, minlength=len(query_ids))
    ranked, ranked_scores = _table(columns, sizes, NOTHING), _table(scores, sizes, 0.0)
    _refuse_repeated(query_ids, code_ids, ranked)
    if query_ids == sorted(query_ids):
        return Rankings(query_ids, code_ids, ranked, ranked_scores)
    by_id = sorted(range(len(query_ids)), key=query_ids.__getitem__)
    named = [query_ids[row] for row in by_id]
    return Rankings(named, code_ids, ranked[by_id], ranked_scores[by_id])


def _table(values: npt.NDArray[Value], sizes: Positions, filler: float) -> npt.NDArray[Value]:
    """Return values, given row after row, as a table; short rows end in ``filler``."""
    width = int(sizes.max(initial=0))
    if (sizes == width).all():
        return values.reshape(len(sizes), width)
    table = np.full((len(sizes), width), filler, values.dtype)
    table[np.arange(width) < sizes[:, None]] = values
    return table


def numbered(names: pa.Array | pa.ChunkedArray) -> tuple[list[str], Positions]:
    """Return the distinct names as they come, and each name's position among them."""
    coded = names.dictionary_encode()
    chunks = coded.chunks if isinstance(coded, pa.ChunkedArray) else [coded]
    if not chunks:
        return [], np.empty(0, np.int64)
    positions = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
    # The chunks of a column share one dictionary; to join them first would copy all strings.
    return chunks[-1].dictionary.to_pylist(), positions.astype(np.int64)


def _order(
    rows: Positions,
    scores: npt.NDArray[np.float64],
    columns: Positions,
    code_ids: Sequence[str],
) -> Positions | None:
    """Return the order by query, falling score and code id; None where the rows have it already.

    Ids are compared for ties alone: hundreds of thousands of strings take longer to sort than
    all the rest does.
    """
    sorted_already = (rows[1:] > rows[:-1]) | ((rows[1:] == rows[:-1]) & (scores[1:] < scores[:-1]))
    if sorted_already.all():
        return None
    order = np.lexsort((-scores, rows))
    same = (rows[order][1:] == rows[order][:-1]) & (scores[order][1:] == scores[order][:-1])
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if tied.size:
        group = np.cumsum(np.append(True, ~same))[tied]
        ids = np.array([code_ids[column] for column in columns[order[tied]].tolist()])
        order[tied] = order[tied][np.lexsort((ids, group))]
    return order


def _refuse_repeated(query_ids: Sequence[str], code_ids: Sequence[str], ranked: Positions) -> None:
    ordered = np.sort(ranked, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING)
    if repeated.any():
        row, place = np.argwhere(repeated)[0].tolist()
        code = code_ids[int(ordered[row, place])]
        raise ValueError(f"query {query_ids[row]!r} has code {code!r} twice")
