"""The retrieval method tf-idf."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings, rank_in_blocks
from tasks.retrievers import retrievers
from tasks.retrievers._tokens import words


@retrievers.register("tf-idf")
class TfIdf:
    """Cosine of word counts weighted by rarity (Salton and Buckley 1988, "ltc" for both sides).

    A word that occurs n times weighs (1 + ln n) · ln(N / df) before the length is made 1, where df
    of the N codes have it. Words split at case and underscore.
    """

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes whose weighted counts are nearest to each query's."""
        ordered = sorted(codes, key=lambda code: code.code_id)
        texts = [words(code.text) for code in ordered]
        vocabulary = {
            word: n for n, word in enumerate(dict.fromkeys(word for text in texts for word in text))
        }
        counts = _counts(texts, vocabulary)
        rarity = np.log(
            len(ordered) / np.maximum(np.bincount(counts.indices, minlength=counts.shape[1]), 1)
        )
        query_counts = _counts([words(query.text) for query in queries], vocabulary)
        documents, questions = _weighted(counts, rarity), _weighted(query_counts, rarity)
        return rank_in_blocks(
            [query.query_id for query in queries],
            [code.code_id for code in ordered],
            lambda rows: (questions[rows] @ documents.T).toarray(),
            depth,
        )


def _counts(texts: Sequence[Sequence[str]], vocabulary: dict[str, int]) -> sparse.csr_array:
    """Return (texts, words) the number of occurrences of each word of the vocabulary."""
    cells = [
        (row, vocabulary[word])
        for row, text in enumerate(texts)
        for word in text
        if word in vocabulary
    ]
    rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
    shape = (len(texts), max(len(vocabulary), 1))
    counts = sparse.csr_array((np.ones(len(cells)), (rows, columns)), shape=shape)
    counts.sum_duplicates()
    return counts


def _weighted(
    counts: sparse.csr_array, rarity: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> sparse.csr_array:
    """Return rows of unit length, rare words weighing more; a row without known words stays 0."""
    weighted = counts.copy()
    weighted.data = (1 + np.log(weighted.data)) * rarity[weighted.indices]
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    weighted.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(weighted.indptr))
    return weighted
