"""Word counts of texts as one matrix of integers, which the lexical methods share."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log
from typing import Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from infra.records import Code

Find = Callable[[str], Iterable[str]]  # text → the spellings of its words
Counts = sparse.csr_array  # (texts, words) of int32

_TEXTS_AT_ONCE = 1 << 12
_WORDS_AT_ONCE = 1 << 20


@runtime_checkable
class _Columns(Protocol):
    """Codes that are kept in columns, and made one by one when they are read."""

    def ordered(self) -> Self: ...
    def column(self, name: str) -> pa.ChunkedArray: ...


def ids_and_texts(codes: Sequence[Code]) -> tuple[list[str], Iterable[str]]:
    """Return the codes' ids in ascending order, and their texts in that order.

    Of codes that are kept in columns only these two are read, the texts some at a time.
    """
    if isinstance(codes, _Columns):
        codes = codes.ordered()
        texts = (text for some in _slices(codes.column("text")) for text in some.to_pylist())
        return codes.column("code_id").to_pylist(), texts
    ordered = sorted(codes, key=lambda code: code.code_id)
    return [code.code_id for code in ordered], (code.text for code in ordered)


def _slices(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    return (column.slice(start, _TEXTS_AT_ONCE) for start in range(0, len(column), _TEXTS_AT_ONCE))


class Vocabulary(dict[str, int]):
    """Spelling → number of its lower-cased word, numbered as they come.

    A spelling that is asked for and not there is added; so a text is numbered by look-ups alone.

    Attributes:
        words: How many words there are, which all spellings of a word count once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = 0

    def __missing__(self, spelling: str) -> int:
        """Return the number of a spelling's word, after adding both where they are new."""
        word = spelling.lower()
        if word in self:
            number = self[word]
        else:
            number = self[word] = self.words
            self.words += 1
        self[spelling] = number
        return number


def count_words(texts: Iterable[str], find: Find, vocabulary: Vocabulary) -> Counts:
    """Return (texts, words) int32 counts, the columns of a row in rising order.

    Args:
        texts: The texts; they are read once, and only their counts are kept.
        find: Text → the spellings of its words.
        vocabulary: The numbers of the words; new words are added.
    """
    counts, columns, sizes = [], [], []
    for block in _blocks(texts, find, vocabulary):
        block.sum_duplicates()
        counts.append(block.data)
        columns.append(block.indices)
        sizes.append(np.diff(block.indptr))
    ends = narrow(np.concatenate([[0], *sizes]).cumsum())
    shape = (len(ends) - 1, max(vocabulary.words, 1))
    return sparse.csr_array((_joined(counts), _joined(columns), ends), shape=shape)


def _blocks(texts: Iterable[str], find: Find, vocabulary: Vocabulary) -> Iterator[Counts]:
    """Yield the words of some texts as rows of ones, in which words repeat."""
    numbers, ends = array("i"), [0]
    for text in texts:
        numbers.extend(map(vocabulary.__getitem__, find(text)))
        ends.append(len(numbers))
        if len(numbers) >= _WORDS_AT_ONCE:
            yield _ones(numbers, ends, vocabulary)
            numbers, ends = array("i"), [0]
    yield _ones(numbers, ends, vocabulary)


def _ones(numbers: "array[int]", ends: list[int], vocabulary: Vocabulary) -> Counts:
    columns = np.frombuffer(numbers, np.int32) if numbers else np.empty(0, np.int32)
    shape = (len(ends) - 1, max(vocabulary.words, 1))
    rows = np.array(ends, np.int32)
    return sparse.csr_array((np.ones(len(columns), np.int32), columns.copy(), rows), shape=shape)


def narrow(ends: npt.NDArray[np.int64]) -> npt.NDArray[np.integer]:
    """Return the ends of rows in 32 bits where they fit, or SciPy would widen the columns too."""
    return ends.astype(np.int32) if ends[-1] <= np.iinfo(np.int32).max else ends


def _joined(pieces: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    """Return the pieces as one array; the list is emptied, so that no piece is held twice."""
    whole = np.empty(sum(map(len, pieces)), np.int32)
    end = len(whole)
    while pieces:
        piece = pieces.pop()
        whole[end - len(piece) : end] = piece
        end -= len(piece)
    return whole


def known_words(asked: Counts, words: int) -> Counts:
    """Return the counts of queries without the words that are in no code.

    Args:
        asked: (queries, all words) counts.
        words: How many words there were before the queries were counted.
    """
    return asked[:, :words] if asked.shape[1] > words else asked


def lengths(counts: Counts) -> npt.NDArray[np.int64]:
    """Return (texts,) the number of words of each text."""
    total: npt.NDArray[np.int32] = counts @ np.ones(counts.shape[1], np.int32)
    return total.astype(np.int64)


def documents(counts: Counts) -> npt.NDArray[np.int64]:
    """Return (words,) how many of the texts have each word."""
    found: npt.NDArray[np.int64] = np.bincount(counts.indices, minlength=counts.shape[1])
    return found


def idf(having: npt.NDArray[np.int64], number: int) -> npt.NDArray[np.float32]:
    """Return (words,) Lucene's inverse document frequency, in single precision.

    Args:
        having: (words,) how many documents have each word.
        number: How many documents there are.
    """
    distinct, word = np.unique(having, return_inverse=True)
    rarity = [log(1 + (number - has + 0.5) / (has + 0.5)) for has in distinct.tolist()]
    return np.array(rarity, np.float32)[word]


def unit_rows(counts: Counts) -> npt.NDArray[np.float64]:
    """Return the stored counts, those of each row divided by the row's Euclidean length."""
    squares = np.append(0, np.cumsum(np.square(counts.data, dtype=np.int64)))
    roots = np.sqrt(squares[counts.indptr[1:]] - squares[counts.indptr[:-1]])
    unit: npt.NDArray[np.float64] = counts.data / np.repeat(roots, np.diff(counts.indptr))
    return unit
