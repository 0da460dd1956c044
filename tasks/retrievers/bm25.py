"""The retrieval method bm25."""

import logging
from collections.abc import Sequence

import numpy as np

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings, rank_in_blocks
from tasks.retrievers import retrievers
from tasks.retrievers._tokens import words


@retrievers.register("bm25")
class BM25:
    """Okapi BM25 as Lucene computes it, k1 = 1.2, b = 0.75 (Robertson and Zaragoza 2009).

    Computed by the library bm25s over words split at case and underscore.
    """

    def __init__(self) -> None:
        import bm25s  # noqa: PLC0415 - heavy libraries load when used

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets DEBUG for itself
        self._index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes with the highest BM25 score for each query."""
        ordered = sorted(codes, key=lambda code: code.code_id)
        self._index.index([words(code.text) for code in ordered], show_progress=False)
        questions = [words(query.text) for query in queries]
        return rank_in_blocks(
            [query.query_id for query in queries],
            [code.code_id for code in ordered],
            lambda rows: np.array(
                [self._scores(text, len(ordered)) for text in questions[rows]], np.float32
            ).reshape(-1, len(ordered)),
            depth,
        )

    def _scores(
        self, question: list[str], documents: int
    ) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        known = [word for word in question if word in self._index.vocab_dict]
        if not known:
            return np.zeros(documents, np.float32)
        scores: np.ndarray[tuple[int], np.dtype[np.float32]] = self._index.get_scores(known)
        return scores
