"""The retrieval method bow-sklearn: CoSQA+'s bag of words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings, rank_in_blocks
from tasks.retrievers import retrievers

_FEATURES = 2000


@retrievers.register("bow-sklearn")
class BowSklearn:
    """Cosine of scikit-learn's word counts: its 2,000 most frequent words of the codes.

    CoSQA+'s baseline (its authors' code): CountVectorizer with its defaults, fitted on the codes.
    A word is two or more letters, digits or underscores, lower-cased, so identifiers stay whole.
    """

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes whose counts are nearest to each query's."""
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - a second

        ordered = sorted(codes, key=lambda code: code.code_id)
        counter = CountVectorizer(max_features=_FEATURES)
        counted = [code.text for code in ordered], [query.text for query in queries]
        try:
            counter.fit(counted[0])
        except ValueError:  # no code has a word
            counter = CountVectorizer(vocabulary=[""])
        documents, questions = (_unit(counter.transform(texts)) for texts in counted)
        return rank_in_blocks(
            [query.query_id for query in queries],
            [code.code_id for code in ordered],
            lambda rows: (questions[rows] @ documents.T).toarray(),
            depth,
        )


def _unit(counts: Any) -> sparse.csr_array:  # noqa: ANN401 - scikit-learn has no types
    """Return rows of unit length; a row without known words stays 0."""
    rows: sparse.csr_array = sparse.csr_array(counts).astype(np.float64)
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
    rows.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(rows.indptr))
    return rows
