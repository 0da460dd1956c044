"""The retrieval method bm25."""

from collections.abc import Sequence

import numpy as np

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._words import Matrix, Words, repeat_by_row, with_data

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
        words = Words.of(queries, codes)
        mean, rarity = words.mean_length(), words.idf().astype(np.float64)

        def weigh(some: Matrix) -> Matrix:
            norm = repeat_by_row(_K1 * ((1 - _B) + _B * some.sum(axis=1) / mean), some)
            return with_data(some, rarity[some.indices] * (some.data / (norm + some.data)))

        asked = with_data(
            words.query_words, words.query_words.data.astype(np.float32)
        )  # repeated words stay
        return words.rank(asked, weigh, depth)
