"""The retrieval method bm25."""

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
    idf,
    ids_and_texts,
    lengths,
)
from tasks.retrievers._postings import rank_by_words
from tasks.retrievers._tokens import spellings

_K1, _B = 1.2, 0.75


@retrievers.register("bm25")
class BM25:
    """Okapi BM25 as Lucene computes it, k1 = 1.2, b = 0.75 (Robertson and Zaragoza 2009).

    score = Σ idf · tf / (tf + k1 (1 - b + b · length / mean length)) over the query's words, with
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)), over words split at case and underscore; a word that
    a query repeats counts as often. The weights are kept and added in single precision, in the
    order of the query, which gives the figures of the library bm25s to the last bit.
    """

    revision = "3"  # 2 split words at accents, 1 ranked codes without a word of the query

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes with the highest BM25 score for each query."""
        code_ids, texts = ids_and_texts(codes)
        vocabulary = Vocabulary()
        counts = count_words(texts, spellings, vocabulary)
        sizes = lengths(counts)
        mean = sizes.mean() if sizes.any() else 1.0
        rarity = idf(documents(counts), len(code_ids)).astype(np.float64)

        def weigh(some: Counts) -> npt.NDArray[np.float64]:
            norm = _K1 * ((1 - _B) + _B * lengths(some) / mean)
            spread = np.repeat(norm, np.diff(some.indptr))
            weights: npt.NDArray[np.float64] = rarity[some.indices] * (
                some.data / (spread + some.data)
            )
            return weights

        return rank_by_words(
            [query.query_id for query in queries],
            code_ids,
            _asked([query.text for query in queries], vocabulary, counts.shape[1]),
            counts,
            weigh,
            depth,
        )


def _asked(texts: Sequence[str], vocabulary: Vocabulary, words: int) -> sparse.csr_array:
    """Return (queries, words) ones, a row's words as the query has them, repeated ones too."""
    rows = [
        [number for word in spellings(text) if (number := vocabulary[word]) < words]
        for text in texts
    ]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([number for row in rows for number in row], np.int32)
    return sparse.csr_array((np.ones(ends[-1], np.float32), columns, ends), (len(rows), words))
