"""Runs and qrels: the ranked lists of a method, and the judgements of a benchmark, as arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from infra.records import Label
from tasks.benchmarks.rows import Rows
from tasks.statistics import Values

Positions = npt.NDArray[np.signedinteger]
Value = TypeVar("Value", bound=np.generic)
NOTHING = -1
ID = r"^[^\s\x00-\x1f\x7f]+$"  # of a query or a code, so that it is one field of a line
_GROUPS_A_RANK, _LEAST_GROUPS = 8, 256
_CELLS_A_RESULT, _LEAST_CELLS = 32, 1 << 25  # of a table of rankings, 12 to 16 bytes each
# RE2 takes ASCII alone for white space: the others, by Unicode's categories, and the next line.
_ID_OF_ARROW = r"^[^\s\x00-\x1f\x7f\x85\pZ]+$"


class RepeatedCodeError(ValueError):
    """A query has a code twice."""

    def __init__(self, query: str, code: str) -> None:
        super().__init__(f"query {query!r} has code {code!r} twice: list each result once")
        self.query, self.code = query, code


@dataclass(frozen=True)
class Rankings:
    """The results of a method for each query, best first, ties by ascending code id.

    Attributes:
        query_ids: One for each row.
        code_ids: The codes, to which the positions refer.
        codes: (queries, depth) positions in ``code_ids``, of 32 or 64 bits; -1 where the ranking
            has ended.
        scores: (queries, depth) the method's own scores, higher is better.
    """

    query_ids: Sequence[str]
    code_ids: Sequence[str]
    codes: Positions
    scores: npt.NDArray[np.float64]

    @property
    def depth(self) -> int:
        """The longest a ranking can be."""
        return int(self.codes.shape[1])

    def cut(self, depth: int) -> "Rankings":
        """Return the first ``depth`` results of each query."""
        return replace(self, codes=self.codes[:, :depth], scores=self.scores[:, :depth])

    def rows(self) -> Iterator[tuple[str, str, float]]:
        """Yield (query, code, score), grouped by query, best first."""
        for query, codes, scores in zip(self.query_ids, self.codes, self.scores, strict=True):
            for code, score in zip(codes.tolist(), scores.tolist(), strict=True):
                if code != NOTHING:
                    yield query, self.code_ids[code], score


def best(scores: npt.NDArray[np.floating], depth: int) -> Positions:
    """Return the positions of the highest scores, ties in rising order of position.

    Args:
        scores: (m,) none of them NaN.
        depth: How many, at most m.
    """
    if depth < len(scores):
        lowest = _lower_bound(scores, depth)
        positions = np.flatnonzero(scores > lowest)
        if len(positions) < depth:  # so many are as low as the bound that it is the last score
            level = np.flatnonzero(scores == lowest)[: depth - len(positions)]
            positions = np.concatenate([positions, level])
    else:
        positions = np.arange(len(scores))
    found: Positions = positions[np.argsort(-scores[positions], kind="stable")][:depth]
    return found


def _lower_bound(scores: npt.NDArray[np.floating], depth: int) -> np.floating:
    """Return a score that at least ``depth`` scores reach, and few more.

    The scores are put into groups, several for each wanted score: as many scores as there are
    groups reach the lowest of their maxima. That reads the scores once, where a partition of all
    moves them about; and it is slow where many are equal, as the scores without a common word are.
    """
    groups = max(_GROUPS_A_RANK * depth, _LEAST_GROUPS)
    size = len(scores) // groups
    if size > 1:
        scores = scores[: size * groups].reshape(size, groups).max(axis=0)
    bound: np.floating = scores.min()
    higher = scores[scores > bound]
    if len(higher) >= depth:
        bound = np.partition(higher, len(higher) - depth)[len(higher) - depth]
    return bound


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
        ValueError: A query has a code twice, a score is not a number, or a few rankings are so much
            longer than the others that a table of all would fill the memory.
    """
    return rank_numbered(*numbered(queries), *numbered(codes), scores)


def rank_numbered(
    query_ids: list[str],
    rows: Positions,
    code_ids: list[str],
    columns: Positions,
    scores: npt.NDArray[np.float64],
) -> Rankings:
    """Return rankings from columns of a run whose names are numbered; see `rank_rows`.

    Args:
        query_ids: The distinct queries.
        rows: (n,) positions in ``query_ids``.
        code_ids: The distinct codes.
        columns: (n,) positions in ``code_ids``.
        scores: (n,) higher is better.
    """
    if np.isnan(scores).any():
        raise ValueError("a score is not a number: list each result with its score")
    order = _order(rows, scores, columns, code_ids)
    if order is not None:
        rows, columns, scores = rows[order], columns[order], scores[order]
    sizes = np.bincount(rows, minlength=len(query_ids))
    _refuse_sparse(sizes)
    ranked, ranked_scores = _table(columns, sizes, NOTHING), _table(scores, sizes, 0.0)
    ordered = np.sort(ranked, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING)
    if repeated.any():
        row, place = np.argwhere(repeated)[0].tolist()
        raise RepeatedCodeError(query_ids[row], code_ids[int(ordered[row, place])])
    if query_ids == sorted(query_ids):
        return Rankings(query_ids, code_ids, ranked, ranked_scores)
    by_id = sorted(range(len(query_ids)), key=query_ids.__getitem__)
    named = [query_ids[row] for row in by_id]
    return Rankings(named, code_ids, ranked[by_id], ranked_scores[by_id])


class Numbering:
    """Names that come piece by piece, as positions of 32 bits among the distinct ones.

    A column of a run names each query and each code again and again: its text takes ten times the
    memory of its positions.
    """

    def __init__(self) -> None:
        self._names = pa.array([], pa.string())
        self._positions: list[npt.NDArray[np.int32]] = []

    def add(self, names: pa.Array) -> None:
        """Number the next names."""
        coded = names.dictionary_encode()
        place = pc.index_in(coded.dictionary, value_set=self._names)
        new = place.is_null().to_numpy(zero_copy_only=False)
        numbers = place.fill_null(NOTHING).to_numpy(zero_copy_only=False).astype(np.int32)
        numbers[new] = len(self._names) + np.arange(np.count_nonzero(new), dtype=np.int32)
        self._names = pa.concat_arrays([self._names, coded.dictionary.filter(place.is_null())])
        self._positions.append(numbers[coded.indices.to_numpy(zero_copy_only=False)])

    def result(self) -> tuple[list[str], npt.NDArray[np.int32]]:
        """Return the distinct names as they came, and each name's position among them."""
        positions = self._positions or [np.empty(0, np.int32)]
        return self._names.to_pylist(), np.concatenate(positions)


def _refuse_sparse(sizes: Positions) -> None:
    cells = len(sizes) * int(sizes.max(initial=0))
    if cells > max(_LEAST_CELLS, _CELLS_A_RESULT * int(sizes.sum())):
        raise ValueError(
            f"one of {len(sizes):,} rankings has {sizes.max():,} results, and all together have "
            f"{sizes.sum():,}: cut the long ones"
        )


def refuse_unfit_ids(ids: pa.Array | pa.ChunkedArray) -> None:
    """Refuse an id that would be several fields or lines of a file.

    Raises:
        ValueError: There is one.
    """
    unfit = ids.filter(pc.invert(pc.match_substring_regex(ids, _ID_OF_ARROW)))
    if len(unfit):
        raise ValueError(
            f"{unfit[0].as_py()!r} is no id for runs and qrels: it must have no white space and "
            "no control characters"
        )


def _table(values: npt.NDArray[Value], sizes: Positions, filler: float) -> npt.NDArray[Value]:
    """Return values, given row after row, as a table; short rows end in ``filler``."""
    width = int(sizes.max(initial=0))
    if (sizes == width).all():
        return values.reshape(len(sizes), width)
    table = np.full((len(sizes), width), filler, values.dtype)
    table[np.arange(width) < sizes[:, None]] = values
    return table


def numbered(names: pa.Array | pa.ChunkedArray) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the distinct names as they come, and each name's position among them."""
    coded = names.dictionary_encode()
    chunks = coded.chunks if isinstance(coded, pa.ChunkedArray) else [coded]
    if not chunks:
        return [], np.empty(0, np.int64)
    positions = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
    # The chunks of a column share one dictionary; to join them first would copy all strings.
    return chunks[-1].dictionary.to_pylist(), positions.astype(np.int64)


def _order(
    rows: Positions, scores: npt.NDArray[np.float64], columns: Positions, code_ids: Sequence[str]
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


Qrels = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class QrelsTable:
    """Qrels as columns; a relevance of 0 is judged and not relevant, one below 0 is not judged.

    So TREC marks what was pooled and not judged (-1), or is junk (-2).

    Attributes:
        query_ids: The judged queries.
        code_ids: The judged codes, each once.
        rows: (pairs,) positions in ``query_ids``.
        columns: (pairs,) positions in ``code_ids``.
        relevance: (pairs,)
    """

    query_ids: Sequence[str]
    code_ids: Sequence[str]
    rows: Positions
    columns: Positions
    relevance: Values

    @classmethod
    def of(cls, qrels: Qrels) -> Self:
        """Return query → code → relevance as columns."""
        query_ids = sorted(qrels)
        sizes = [len(qrels[query]) for query in query_ids]
        rows = np.repeat(np.arange(len(query_ids)), sizes)
        codes = pa.array([code for query in query_ids for code in qrels[query]], pa.string())
        code_ids, columns = numbered(codes)
        relevance = [value for query in query_ids for value in qrels[query].values()]
        return cls(query_ids, code_ids, rows, columns, np.array(relevance, np.float64))

    @classmethod
    def of_labels(cls, labels: Iterable[Label]) -> Self:
        """Return labels as columns; those that are `Rows` are read without a record."""
        rows = Rows.of(Label, labels).ordered()
        query_ids, queries = numbered(rows.column("query_id"))
        code_ids, codes = numbered(rows.column("code_id"))
        return cls(query_ids, code_ids, queries, codes, rows.column("relevance").to_numpy())
