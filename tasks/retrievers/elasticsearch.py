"""The retrieval method elasticsearch: CodeSearchNet's baseline of that name."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from infra.records import Code, Query
from infra.text import words as subtokens
from tasks.benchmarks.runs import NOTHING, Rankings, rank_numbered
from tasks.retrievers import retrievers
from tasks.retrievers._words import Pieces, Words, rank_by_bm25


@retrievers.register("elasticsearch")
class Elasticsearch:
    """ElasticSearch's defaults over two fields: a function's name, and its text.

    Husain et al. 2019 (arXiv 1909.09436, section 4) index the name, split into sub-tokens, and the
    text of the whole function. No ElasticSearch is run: its standard analyser and its BM25 are
    Lucene's (`tasks.retrievers._words`). A code's score is that of the better field, as a
    multi_match of type best_fields and a query string over all fields have it by default (a
    disjunction maximum without a tie breaker); the paper does not say how it asked. Each field has
    frequencies and a mean length of its own, of the codes that have words in it. There is one
    shard: several, as ElasticSearch once made by default, would each count their own frequencies.
    """

    revision = "1"

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes with the highest score for each query."""
        pieces = Pieces()
        names = Words.of(
            queries,
            codes,
            lambda name: pieces.words(" ".join(subtokens(name))),
            find_in_query=pieces.words,
            field="name",
        )
        texts = Words.of(queries, codes, pieces.words)
        # The first results of each field hold the first of both.
        scores = _scores(names, depth).maximum(_scores(texts, depth)).tocoo()
        return rank_numbered(
            list(texts.query_ids), scores.row, list(texts.code_ids), scores.col, scores.data
        ).cut(depth)


def _scores(words: Words, depth: int) -> sparse.csr_array:
    """Return (queries, codes) scores of the first ``depth`` results by one field, 0 for others."""
    shape = (len(words.query_ids), len(words.code_ids))
    having = np.flatnonzero(np.diff(words.code_counts.indptr))  # Lucene counts these codes alone
    if not len(having):
        return sparse.csr_array(shape)
    ids = [words.code_ids[row] for row in having.tolist()]
    counts = words.code_counts[having]
    ranked = rank_by_bm25(replace(words, code_ids=ids, code_counts=counts), depth)
    rows, places = np.nonzero(ranked.codes != NOTHING)
    columns = having[ranked.codes[rows, places]]
    return sparse.csr_array((ranked.scores[rows, places], (rows, columns)), shape)
