"""The retrieval method bag-of-words."""

from collections.abc import Sequence

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._words import Words, unit_rows


@retrievers.register("bag-of-words")
class BagOfWords:
    """Cosine of the vectors of word counts (Salton et al. 1975, without weights)."""

    revision = "3"  # 2 split words at accents, 1 ranked codes without a word of the query

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes whose counts are nearest to each query's."""
        words = Words.of(queries, codes)
        return words.rank(unit_rows(words.query_counts()), unit_rows, depth)
