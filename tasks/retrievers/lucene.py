"""The retrieval method lucene: BM25 over the words of Lucene's standard analyser.

What Lucene 9 does by default, as CoSQA+ uses it, with one field: words by the default boundaries of
Unicode's annex 29, lower-cased, no stop words; BM25 with k1 = 1.2 and b = 0.75, lengths kept in one
byte, single precision. Queries are words and no expressions: AND, quotes and the like mean nothing.
Emoji are no words here, and words of Thai, Lao and Khmer are single characters; equal scores come
by code id, where Lucene has the order of the index.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import regex

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._words import Matrix, Words, spread, with_data

_BOUNDARY = regex.compile(r"(?V1w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
_LONGEST = 255  # characters; longer words are cut into pieces
_MOST_PIECES = 1 << 20  # that are remembered
_K1, _B, _ONE = np.float32(1.2), np.float32(0.75), np.float32(1)
_EXACT = 24  # lengths below are kept as they are


@retrievers.register("lucene")
class Lucene:
    """BM25 as Lucene 9 computes it by default, over its standard analyser's words.

    score = Σ idf · tf / (tf + k1 (1 - b + b · length / mean length)) over the query's words, with
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)); a word that a query repeats counts as often.
    """

    revision = "2"  # 1 filled rankings with codes that share no word with the query

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes with the highest score for each query."""
        words = Words.of(queries, codes, _Pieces().words)
        mean, rarity = np.float32(words.mean_length()), words.idf()

        def weigh(some: Matrix) -> Matrix:
            lengths = some.sum(axis=1).tolist()
            kept = np.array([kept_length(size) for size in lengths], np.float32)
            inverse = spread(_ONE / (_K1 * ((_ONE - _B) + _B * kept / mean)), some)
            scale = rarity[some.indices]
            return with_data(some, scale - scale / (_ONE + some.data.astype(np.float32) * inverse))

        return words.rank(words.asked_counts().astype(np.float64), weigh, depth)


class _Pieces(dict[str, Sequence[str]]):
    """Piece of a text between two boundaries → its words; pieces come again and again."""

    def __missing__(self, piece: str) -> Sequence[str]:
        if len(self) == _MOST_PIECES:
            self.clear()
        lower = piece.lower() if _WORD.search(piece) else ""
        found = self[piece] = [lower[at : at + _LONGEST] for at in range(0, len(lower), _LONGEST)]
        return found

    def words(self, text: str) -> Iterable[str]:
        """Return the words of a text in their order."""
        return chain.from_iterable(map(self.__getitem__, _BOUNDARY.split(text)))


def standard_words(text: str) -> list[str]:
    """Return StandardAnalyzer's words: ``json.load(my_file)`` → json.load, my_file."""
    return list(_Pieces().words(text))


def kept_length(length: int) -> int:
    """Return a field's length after it was kept in one byte: exact up to 40, then 4 bits of it.

    Lucene's SmallFloat: 24 exact values, then a float with 3 bits of mantissa.
    """
    if length < _EXACT:
        return length
    rest = length - _EXACT
    shift = max(rest.bit_length() - 4, 0)
    return _EXACT + (rest >> shift << shift)
