"""The words of queries and code, and ranking by them, for the lexical methods.

Lucene's standard analyser (`Pieces`) and its BM25 are those of lucene and elasticsearch: Lucene 9's
defaults: words by the default boundaries of Unicode's annex 29, lower-cased, no stop words; BM25
with k1 = 1.2 and b = 0.75, lengths stored in one byte, single precision. Queries are words and no
expressions: AND, quotes and the like mean nothing. Emoji are no words here, and words of Thai, Lao
and Khmer are single characters; equal scores come by code id, where Lucene has the order of the
index.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import regex
from scipy import sparse
from scipy.sparse.linalg import norm

from infra.machine import usable_cores
from infra.records import Code, Query
from infra.text import words
from tasks.benchmarks.runs import NOTHING, Rankings, best

Find = Callable[[str], Iterable[str]]  # text → its words
Matrix = sparse.csr_array  # (texts, words)
_TEXTS_AT_ONCE = 1 << 13
# Of Lucene.
_BOUNDARY = regex.compile(r"(?V1w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
_LONGEST = 255  # characters; longer words are cut into pieces
_MOST_PIECES = 1 << 20  # that are cached
_K1, _B, _ONE = np.float32(1.2), np.float32(0.75), np.float32(1)
_EXACT = 24  # lengths below are stored as they are


@dataclass(frozen=True)
class Words:
    """The words of queries and of codes.

    Attributes:
        query_ids: One for each row of ``query_words``.
        code_ids: One for each row of ``code_counts``, in ascending order.
        query_words: (queries, words) int32 ones, a row's words in their order, repeated ones too.
        code_counts: (codes, words) int32 counts.
        numbers: Word → its column, in the order of the codes' first words; words that only queries
            have come last.
    """

    query_ids: Sequence[str]
    code_ids: Sequence[str]
    query_words: Matrix
    code_counts: Matrix
    numbers: dict[str, int]

    @classmethod
    def of(
        cls,
        queries: Sequence[Query],
        codes: Sequence[Code],
        find: Find = words,
        *,
        find_in_query: Find | None = None,
        field: str = "text",
    ) -> Self:
        """Return the words of texts, which are read once.

        Args:
            queries: The queries.
            codes: The codes.
            find: Finds the words of a text.
            find_in_query: Finds the words of a query, where another way.
            field: The codes' field: ``text`` or ``name``.
        """
        numbers = defaultdict[str, int]()
        numbers.default_factory = numbers.__len__
        code_ids, texts = _ids_and_texts(codes, field)
        counts = _ones(texts, find, numbers)
        counts.sum_duplicates()
        ones = _ones((query.text for query in queries), find_in_query or find, numbers)
        counts.resize(counts.shape[0], ones.shape[1])  # type: ignore[call-arg, arg-type]
        return cls([query.query_id for query in queries], code_ids, ones, counts, numbers)

    def query_counts(self) -> Matrix:
        """Return (queries, words) int32 counts."""
        counts = self.query_words.copy()
        counts.sum_duplicates()
        return counts

    def mean_length(self) -> float:
        """Return the mean number of words of a code, or 1 where no code has any."""
        return float(self.code_counts.sum() / len(self.code_ids)) or 1.0

    def document_frequency(self) -> npt.NDArray[np.int64]:
        """Return (words,) numbers of codes that have the word."""
        found: npt.NDArray[np.int64] = np.bincount(
            self.code_counts.indices, minlength=self.code_counts.shape[1]
        )
        return found

    def idf(self) -> npt.NDArray[np.float32]:
        """Return (words,) Lucene's inverse document frequency, in single precision."""
        frequency = self.document_frequency()
        rarity = np.log(1 + (len(self.code_ids) - frequency + 0.5) / (frequency + 0.5))
        single: npt.NDArray[np.float32] = rarity.astype(np.float32)
        return single

    def rank(
        self,
        queries: Matrix,
        weigh: Callable[[Matrix], Matrix],
        depth: int,
        *,
        all_codes: bool = False,
    ) -> Rankings:
        """Return the codes with the highest sums of weights over the words of each query.

        A query reads the codes of its own words only, by SciPy's product of a sparse matrix and a
        vector; several queries run at once, since that product lets other threads run.

        Args:
            queries: (queries, words) weights, of the type in which scores are added, and in their
                order in a row; a word may come several times.
            weigh: Returns weights for counts of some codes.
            depth: Length of the rankings.
            all_codes: Whether codes whose sum is 0 stand at the end, by id. They share no word of
                any weight with the query.
        """
        columns, places = np.unique(queries.indices, return_inverse=True)
        starts = range(0, len(self.code_ids), _TEXTS_AT_ONCE)
        blocks = (weigh(self.code_counts[start : start + _TEXTS_AT_ONCE]) for start in starts)
        weights = sparse.vstack([some[:, columns].astype(queries.dtype) for some in blocks], "csc")
        depth = min(depth, len(self.code_ids))
        codes = np.empty((len(self.query_ids), depth), np.int32)
        scores = np.empty((len(self.query_ids), depth))

        def rank(row: int) -> None:
            own = slice(queries.indptr[row], queries.indptr[row + 1])
            found = weights[:, places[own]] @ queries.data[own]
            codes[row] = best(found, depth)
            scores[row] = found[codes[row]]

        with ThreadPoolExecutor(usable_cores()) as threads:
            for _ in threads.map(rank, range(len(self.query_ids))):
                pass
        if not all_codes:
            codes[scores <= 0] = NOTHING
        return Rankings(self.query_ids, self.code_ids, codes, scores)


def unit_rows(weights: Matrix) -> Matrix:
    """Return rows of Euclidean length 1; one without weights stays 0."""
    lengths = norm(weights.astype(np.float64), axis=1)
    return with_data(
        weights, weights.data / repeat_by_row(np.where(lengths > 0, lengths, 1), weights)
    )


def repeat_by_row(values: npt.NDArray[np.floating], matrix: Matrix) -> npt.NDArray[np.floating]:
    """Return each row's value, once for each of its stored entries."""
    return np.repeat(values, np.diff(matrix.indptr))


def with_data(matrix: Matrix, data: npt.NDArray[np.floating]) -> Matrix:
    """Return a matrix with other values at the same places."""
    return sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)


@runtime_checkable
class _Columns(Protocol):
    """Codes stored in columns, which are made one by one when they are read."""

    def ordered(self) -> Self: ...
    def column(self, name: str) -> pa.ChunkedArray: ...


def _ids_and_texts(codes: Sequence[Code], field: str) -> tuple[list[str], Iterable[str]]:
    """Return the codes' ids in ascending order, and their texts or names in that order.

    Of codes stored in columns only these two are read, the texts some at a time.
    """
    if isinstance(codes, _Columns):
        codes = codes.ordered()
        column = codes.column(field)
        starts = range(0, len(column), _TEXTS_AT_ONCE)
        blocks = (column.slice(start, _TEXTS_AT_ONCE).to_pylist() for start in starts)
        return codes.column("code_id").to_pylist(), chain.from_iterable(blocks)
    ordered = sorted(codes, key=lambda code: code.code_id)
    return [code.code_id for code in ordered], (getattr(code, field) for code in ordered)


def _ones(texts: Iterable[str], find: Find, numbers: dict[str, int]) -> Matrix:
    """Return (texts, words) ones, a row's words in their order, repeated ones too."""
    columns, ends = array("i"), array("q", [0])
    for text in texts:
        columns.extend(map(numbers.__getitem__, find(text)))
        ends.append(len(columns))
    # Ends of 64 bits would make SciPy widen the columns.
    rows = np.array(ends, np.int32 if len(columns) < 1 << 31 else np.int64)
    shape = (len(rows) - 1, max(len(numbers), 1))
    return sparse.csr_array((np.ones(len(columns), np.int32), np.asarray(columns), rows), shape)


def rank_by_bm25(words: Words, depth: int) -> Rankings:
    """Return rankings of one field by Lucene's BM25; see `tasks.retrievers.lucene.Lucene`."""
    mean, rarity = np.float32(words.mean_length()), words.idf()

    def weigh(some: Matrix) -> Matrix:
        lengths = some.sum(axis=1).tolist()
        stored = np.array([stored_length(size) for size in lengths], np.float32)
        inverse = repeat_by_row(_ONE / (_K1 * ((_ONE - _B) + _B * stored / mean)), some)
        scale = rarity[some.indices]
        return with_data(some, scale - scale / (_ONE + some.data.astype(np.float32) * inverse))

    return words.rank(words.query_counts().astype(np.float64), weigh, depth)


class Pieces(dict[str, Sequence[str]]):
    """Piece of a text between two boundaries → its words; pieces come again and again."""

    def __missing__(self, piece: str) -> Sequence[str]:
        if len(self) == _MOST_PIECES:
            self.clear()
        lower = piece.lower() if _WORD.search(piece) else ""
        found = self[piece] = [lower[at : at + _LONGEST] for at in range(0, len(lower), _LONGEST)]
        return found

    def words(self, text: str) -> Iterable[str]:
        """Return a text's words in their order: ``json.load(my_file)`` → json.load, my_file."""
        return chain.from_iterable(map(self.__getitem__, _BOUNDARY.split(text)))


def stored_length(length: int) -> int:
    """Return a field's length after it was stored in one byte: exact up to 40, then 4 bits of it.

    Lucene's SmallFloat: 24 exact values, then a float with 3 bits of mantissa.
    """
    if length < _EXACT:
        return length
    rest = length - _EXACT
    shift = max(rest.bit_length() - 4, 0)
    return _EXACT + (rest >> shift << shift)
