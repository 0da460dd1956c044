"""Lucene's standard analyser and its BM25, for the methods lucene and elasticsearch.

Lucene 9's defaults: words by the default boundaries of Unicode's annex 29, lower-cased, no stop
words; BM25 with k1 = 1.2 and b = 0.75, lengths stored in one byte, single precision. Queries are
words and no expressions: AND, quotes and the like mean nothing. Emoji are no words here, and words
of Thai, Lao and Khmer are single characters; equal scores come by code id, where Lucene has the
order of the index.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import regex

from tasks.benchmarks.runs import Rankings
from tasks.retrievers._words import Matrix, Words, repeat_by_row, with_data

_BOUNDARY = regex.compile(r"(?V1w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
_LONGEST = 255  # characters; longer words are cut into pieces
_MOST_PIECES = 1 << 20  # that are cached
_K1, _B, _ONE = np.float32(1.2), np.float32(0.75), np.float32(1)
_EXACT = 24  # lengths below are stored as they are


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
