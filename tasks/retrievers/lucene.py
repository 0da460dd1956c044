"""The retrieval method lucene: CoSQA+'s BM25 over the words of Lucene's standard analyser."""

from collections.abc import Sequence

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._words import Pieces, Words, rank_by_bm25


@retrievers.register("lucene")
class Lucene:
    """BM25 as Lucene 9 computes it by default, over its standard analyser's words, of one field.

    score = Σ idf · tf / (tf + k1 (1 - b + b · length / mean length)) over the query's words, with
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)); a word that a query repeats counts as often.
    """

    revision = "2"  # 1 filled rankings with codes that share no word with the query

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes with the highest score for each query."""
        return rank_by_bm25(Words.of(queries, codes, Pieces().words), depth)
