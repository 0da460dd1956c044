"""The retrieval method lucene: BM25 over the words of Lucene's standard analyser.

What Lucene 9 does by default, as CoSQA+ uses it, with one field: words by the default boundaries of
Unicode's annex 29, lower-cased, no stop words; BM25 with k1 = 1.2 and b = 0.75, lengths kept in one
byte, single precision. Queries are words and no expressions: AND, quotes and the like mean nothing.
Emoji are no words here, and words of Thai, Lao and Khmer are single characters; equal scores come
by code id, where Lucene has the order of the index.
"""

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
import numpy.typing as npt
import regex
from scipy import sparse

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings, rank_in_blocks
from tasks.retrievers import retrievers

_BOUNDARY = regex.compile(r"(?V1w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
_LONGEST = 255  # characters; longer words are cut into pieces
_K1, _B = np.float32(1.2), np.float32(0.75)
_EXACT = 24  # lengths below are kept as they are


@retrievers.register("lucene")
class Lucene:
    """BM25 as Lucene 9 computes it by default, over its standard analyser's words.

    score = Σ idf · tf / (tf + k1 (1 - b + b · length / mean length)) over the query's words, with
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)); a word that a query repeats counts as often.
    """

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes with the highest score for each query."""
        ordered = sorted(codes, key=lambda code: code.code_id)
        texts = [standard_words(code.text) for code in ordered]
        columns: dict[str, int] = {}
        weights = _weights(texts, columns)
        asked = _counts([standard_words(query.text) for query in queries], columns)
        return rank_in_blocks(
            [query.query_id for query in queries],
            [code.code_id for code in ordered],
            lambda rows: (asked[rows] @ weights.T).toarray(),
            depth,
        )


def standard_words(text: str) -> list[str]:
    """Return StandardAnalyzer's words: ``json.load(my_file)`` → json.load, my_file."""
    words = []
    for piece in _BOUNDARY.split(text):
        if _WORD.search(piece):
            lower = piece.lower()
            words += [lower[at : at + _LONGEST] for at in range(0, len(lower), _LONGEST)]
    return words


def kept_length(length: int) -> int:
    """Return a field's length after it was kept in one byte: exact up to 40, then 4 bits of it.

    Lucene's SmallFloat: 24 exact values, then a float with 3 bits of mantissa.
    """
    if length < _EXACT:
        return length
    rest = length - _EXACT
    shift = max(rest.bit_length() - 4, 0)
    return _EXACT + (rest >> shift << shift)


def _weights(texts: Sequence[Sequence[str]], columns: dict[str, int]) -> sparse.csr_array:
    """Return (texts, words) what an occurrence in a query adds to a text's score.

    Args:
        texts: The words of each text.
        columns: Word → its column; filled here.
    """
    counts = [Counter(words) for words in texts]
    for count in counts:
        for word in count:
            columns.setdefault(word, len(columns))
    spread = np.array([len(count) for count in counts], np.int64)
    positions = np.array([columns[word] for count in counts for word in count], np.int64)
    frequencies = np.array([times for count in counts for times in count.values()], np.float32)
    total = sum(map(len, texts))
    mean = np.float32(total / len(texts)) if total else np.float32(1)
    lengths = np.array([kept_length(len(words)) for words in texts], np.float32)
    one = np.float32(1)
    inverse = np.repeat(one / (_K1 * ((one - _B) + _B * lengths / mean)), spread)
    idf = _idf(np.bincount(positions, minlength=len(columns)), len(texts))[positions]
    scores = idf - idf / (one + frequencies * inverse)
    ends = np.concatenate([[0], np.cumsum(spread)])
    shape = (len(texts), max(len(columns), 1))
    return sparse.csr_array((scores.astype(np.float64), positions, ends), shape=shape)


def _idf(documents: npt.NDArray[np.int64], number: int) -> npt.NDArray[np.float32]:
    rarity = [log(1 + (number - has + 0.5) / (has + 0.5)) for has in documents.tolist()]
    return np.array(rarity, np.float32)


def _counts(texts: Sequence[Sequence[str]], columns: dict[str, int]) -> sparse.csr_array:
    """Return (texts, words) how often each text has each known word."""
    cells = [
        (row, columns[word], times)
        for row, words in enumerate(texts)
        for word, times in Counter(words).items()
        if word in columns
    ]
    rows, positions, times = np.array(cells, np.int64).reshape(-1, 3).T
    shape = (len(texts), max(len(columns), 1))
    return sparse.csr_array((times.astype(np.float64), (rows, positions)), shape=shape)
