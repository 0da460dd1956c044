"""The retrieval method elasticsearch: CodeSearchNet's baseline of that name."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from infra.records import Code, Query
from infra.words import words as subtokens
from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._lucene import Pieces, rank_by_bm25
from tasks.retrievers._words import Words

Rows = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


@retrievers.register("elasticsearch")
class Elasticsearch:
    """What ElasticSearch finds by its defaults in two fields: a function's name, and its text.

    Husain et al. 2019 (arXiv 1909.09436, section 4) index the name, split into sub-tokens, and the
    text of the whole function. No ElasticSearch is run: its standard analyser and its BM25 are
    Lucene's (`tasks.retrievers._lucene`). A code's score is that of the better field, as a
    multi_match of type best_fields and a query string over all fields have it by default (a
    disjunction maximum without a tie breaker); the paper does not say how it asked. Each field has
    frequencies and a mean length of its own, of the codes that have words in it. There is one
    shard: several, as ElasticSearch once made by default, would each count their own frequencies.
    """

    revision = "1"

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes with the highest score for each query."""
        pieces = Pieces()

        def of_name(name: str) -> Iterable[str]:
            return pieces.words(" ".join(subtokens(name)))

        fields = (
            Words.of(queries, codes, of_name, ask=pieces.words, field="name"),
            Words.of(queries, codes, pieces.words),
        )
        found = zip(*(_results(words, depth) for words in fields), strict=True)
        rows, columns, scores = map(np.concatenate, found)
        return _best_of(fields[0], rows, columns, scores, depth)


def _results(words: Words, depth: int) -> tuple[Rows, Rows, Doubles]:
    """Return (results,) rows of queries, rows of codes and scores by one field."""
    kept = np.flatnonzero(np.diff(words.said.indptr))  # Lucene counts the codes that have the field
    if not len(kept):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    ids = [words.code_ids[row] for row in kept.tolist()]
    ranked = rank_by_bm25(replace(words, code_ids=ids, said=words.said[kept]), depth)
    which, places = np.nonzero(ranked.codes != NOTHING)
    return which, kept[ranked.codes[which, places]], ranked.scores[which, places]


def _best_of(words: Words, rows: Rows, codes: Rows, scores: Doubles, depth: int) -> Rankings:
    """Return rankings by each code's best score; the first ``depth`` of each field are enough."""
    order = np.lexsort((-scores, codes, rows))
    rows, codes, scores = rows[order], codes[order], scores[order]
    first = np.append(True, (np.diff(rows) != 0) | (np.diff(codes) != 0))[: len(rows)]
    rows, codes, scores = rows[first], codes[first], scores[first]
    order = np.lexsort((codes, -scores, rows))
    rows, codes, scores = rows[order], codes[order], scores[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    table = np.full((len(words.query_ids), min(depth, len(words.code_ids))), NOTHING, np.int32)
    kept_scores, kept = np.zeros(table.shape), place < table.shape[1]
    table[rows[kept], place[kept]] = codes[kept]
    kept_scores[rows[kept], place[kept]] = scores[kept]
    return Rankings(words.query_ids, words.code_ids, table, kept_scores)
