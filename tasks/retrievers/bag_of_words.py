"""The retrieval method bag-of-words."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings, rank_in_blocks
from tasks.retrievers import retrievers
from tasks.retrievers._tokens import words


@retrievers.register("bag-of-words")
class BagOfWords:
    """Cosine of the vectors of word counts (Salton et al. 1975, without weights)."""

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes whose counts are nearest to each query's."""
        query_by_id = {query.query_id: query.text for query in queries}
        text_by_id = {code.code_id: code.text for code in sorted(codes, key=lambda c: c.code_id)}
        vocabulary: dict[str, int] = {}
        documents = _unit_counts(list(text_by_id.values()), vocabulary, grow=True)
        questions = _unit_counts(list(query_by_id.values()), vocabulary, grow=False)
        return rank_in_blocks(
            list(query_by_id),
            list(text_by_id),
            lambda rows: (questions[rows] @ documents.T).toarray(),
            depth,
        )


def _unit_counts(
    texts: Sequence[str], vocabulary: dict[str, int], *, grow: bool
) -> sparse.csr_array:
    """Return (texts, words) counts with rows of unit length; unknown words count for length."""
    rows, columns, values = [], [], []
    for row, text in enumerate(texts):
        counts = Counter(words(text))
        length = np.sqrt(sum(count * count for count in counts.values())) or 1.0
        for word, count in counts.items():
            column = vocabulary.setdefault(word, len(vocabulary)) if grow else vocabulary.get(word)
            if column is not None:
                rows.append(row)
                columns.append(column)
                values.append(count / length)
    shape = (len(texts), max(len(vocabulary), 1))
    return sparse.csr_array((values, (rows, columns)), shape=shape, dtype=np.float64)
