"""The retrieval method tf-idf."""

from collections.abc import Sequence

import numpy as np

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._words import Matrix, Words, unit_rows, with_data


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
        words = Words.of(queries, codes)
        frequency = words.document_frequency()
        rarity = np.where(frequency > 0, np.log(len(codes) / np.maximum(frequency, 1)), 0)

        def weigh(counts: Matrix) -> Matrix:
            weighed = (1 + np.log(counts.data)) * rarity[counts.indices]
            return unit_rows(with_data(counts, weighed))

        return words.rank(weigh(words.query_counts()), weigh, depth)
