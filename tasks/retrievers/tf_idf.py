"""The retrieval method tf-idf."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._counts import (
    Counts,
    Vocabulary,
    count_words,
    documents,
    ids_and_texts,
    known_words,
)
from tasks.retrievers._postings import rank_by_words
from tasks.retrievers._tokens import spellings


@retrievers.register("tf-idf")
class TfIdf:
    """Cosine of word counts weighted by rarity (Salton and Buckley 1988, "ltc" for both sides).

    A word that occurs n times weighs (1 + ln n) · ln(N / df) before the length is made 1, where df
    of the N codes have it. Words split at case and underscore. A word that all codes have weighs
    nothing: a code that shares no other with the query is not ranked.
    """

    revision = "3"  # 2 split words at accents, 1 ranked codes without a word of the query

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes whose weighted counts are nearest to each query's."""
        code_ids, texts = ids_and_texts(codes)
        vocabulary = Vocabulary()
        counts = count_words(texts, spellings, vocabulary)
        words = counts.shape[1]
        asked = count_words((query.text for query in queries), spellings, vocabulary)
        asked = known_words(asked, words)
        rarity = np.log(len(code_ids) / np.maximum(documents(counts), 1))
        weights = _weights(asked, rarity)
        return rank_by_words(
            [query.query_id for query in queries],
            code_ids,
            sparse.csr_array((weights, asked.indices, asked.indptr), asked.shape),
            counts,
            lambda some: _weights(some, rarity),
            depth,
        )


def _weights(counts: Counts, rarity: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return rows of unit length, rare words weighing more; a row without known words stays 0."""
    values: npt.NDArray[np.float64] = (1 + np.log(counts.data)) * rarity[counts.indices]
    squares = sparse.csr_array((values * values, counts.indices, counts.indptr), counts.shape)
    lengths = np.sqrt(squares.sum(axis=1))
    values /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(counts.indptr))
    return values
