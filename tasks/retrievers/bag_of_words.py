"""The retrieval method bag-of-words."""

from collections.abc import Sequence

from scipy import sparse

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._counts import Vocabulary, count_words, ids_and_texts, known_words, unit_rows
from tasks.retrievers._postings import rank_by_words
from tasks.retrievers._tokens import spellings


@retrievers.register("bag-of-words")
class BagOfWords:
    """Cosine of the vectors of word counts (Salton et al. 1975, without weights)."""

    revision = "3"  # 2 split words at accents, 1 ranked codes without a word of the query

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes whose counts are nearest to each query's."""
        code_ids, texts = ids_and_texts(codes)
        vocabulary = Vocabulary()
        counts = count_words(texts, spellings, vocabulary)
        words = counts.shape[1]
        asked = count_words((query.text for query in queries), spellings, vocabulary)
        asked = sparse.csr_array((unit_rows(asked), asked.indices, asked.indptr), asked.shape)
        return rank_by_words(
            [query.query_id for query in queries],
            code_ids,
            known_words(asked, words),  # unknown words count for a query's length
            counts,
            unit_rows,
            depth,
        )
