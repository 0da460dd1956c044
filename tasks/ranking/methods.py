"""Retrieval methods by name: lexical ones, encoders, and fused ones.

``bm25`` and ``minilm`` are registered; ``bm25+minilm`` is the fusion of the two, of any number.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from infra.errors import UnknownNameError
from infra.identity import mark
from infra.records import Code, Query
from infra.registry import unknown_name
from infra.settings import ScoringSettings
from tasks.benchmarks.runs import NOTHING, Rankings, rank_numbered
from tasks.encoders import SYNTAX, Vectors, encoders
from tasks.ranking.pair_models import PAIR_SYNTAX, RERANKED, Advance, LateModel, pair_models, rerank
from tasks.retrievers import retrievers
from tasks.search.exact import search
from tasks.search.scores import Block, Codes, Positions, Singles

_FUSED, _RERANKED = "+", ">"
_PARTS = re.compile(f"([{_FUSED}{_RERANKED}])")


class VectorSource(Protocol):
    """A supplier of the vectors of a benchmark's queries and codes."""

    def queries(self, encoder: str, ids: Sequence[str]) -> Vectors:
        """Return (n, d) vectors of these queries, in the order of ``ids``."""
        ...

    def code_blocks(
        self, encoders: Sequence[str], wanted: Positions | None = None
    ) -> Iterator[Block]:
        """Yield ((m,) positions among the ascending ids, encoder → (m, d) vectors) over the codes.

        Args:
            encoders: Names of encoders.
            wanted: Ascending positions that are asked for; None: all.
        """
        ...


def components(method: str) -> list[str]:
    """Return the retrievers, encoders and pair models that a method is made of.

    Raises:
        UnknownNameError: One of them is none of these.
    """
    names = _PARTS.split(method)[::2]
    for name in names:
        known = [*retrievers.names(), *encoders.names()]
        if name not in known and not encoders.has(name) and not pair_models.has(name):
            raise UnknownNameError(
                f"{unknown_name('retrieval method', name, known)} or {SYNTAX}; join several with "
                f"{_FUSED} to fuse them (bm25{_FUSED}minilm); {PAIR_SYNTAX}"
            )
    first, *rerankers = method.split(_RERANKED)
    wrong = [name for name in first.split(_FUSED) if name.startswith("cross:")]
    wrong += [name for name in rerankers if not pair_models.has(name)]
    if wrong:
        raise UnknownNameError(f"{wrong[0]} cannot stand there in {method}: write {PAIR_SYNTAX}")
    return names


def renamed(method: str, name_of: Callable[[str], str]) -> str:
    """Return a method with its encoders and pair models called by other names.

    Args:
        method: The method.
        name_of: Name or reference of one of these → its name.
    """
    named = {
        name: name_of(name)
        for name in components(method)
        if encoders.has(name) or pair_models.has(name)
    }
    return "".join(named.get(part, part) for part in _PARTS.split(method))


def identity(method: str) -> str:
    """Return the identity of a method's rankings: it changes with weights and revisions."""
    keys = []
    for name in components(method):
        if pair_models.has(name):
            keys.append(pair_models.revision(name))
        elif encoders.has(name):
            keys.append(encoders.get(name).spec.key)
        else:
            keys.append(str(getattr(retrievers.get(name), "revision", "")))
    return mark("method", method, *filter(None, keys))  # a retriever may state none


def steps_of(method: str, queries: int, codes: int) -> int:
    """Return the progress steps of a method's pair models, in queries and codes."""
    first, *rerankers = method.split(_RERANKED)
    alone = sum(map(pair_models.has, first.split(_FUSED)))
    return queries * len(rerankers) + codes * alone


class Ranker:
    """Ranks one benchmark by any method.

    Args:
        queries: The benchmark's queries.
        codes: The codes that are ranked.
        vectors: The vectors of both.
        advance: Told how many queries a pair model has re-ranked, or codes it has ranked.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        codes: Sequence[Code],
        vectors: VectorSource,
        advance: Advance = lambda _items: None,
    ) -> None:
        self._queries = queries
        self._codes = codes
        self._vectors = vectors
        self._advance = advance

    def rank(self, method: str, depth: int) -> Rankings:
        """Return the ``depth`` best codes of each query.

        Raises:
            UnknownNameError: There is no such method.
            StoreError: An encoder has not embedded the collection.
        """
        components(method)
        first, *rerankers = method.split(_RERANKED)
        deep = max(depth, RERANKED) if rerankers else depth
        several = [self._rank_by(name, deep) for name in first.split(_FUSED)]
        ranked = several[0] if len(several) == 1 else fuse(several, deep)
        for name in rerankers:
            model = pair_models.load(name)
            ranked = rerank(ranked, model, self._queries, self._codes, self._advance)
        return ranked.cut(depth)

    def _rank_by(self, name: str, depth: int) -> Rankings:
        if pair_models.has(name):
            model = pair_models.load(name)
            assert isinstance(model, LateModel)  # noqa: S101 - `components` refuses others
            return model.rank(self._queries, self._codes, depth, self._advance)
        if not encoders.has(name):
            return retrievers.get(name)().rank(self._queries, self._codes, depth)
        queries = sorted(query.query_id for query in self._queries)
        codes = sorted(code.code_id for code in self._codes)
        vectors = {name: self._vectors.queries(name, queries)}
        blocks = partial(self._vectors.code_blocks, [name])
        return rank_vectors(vectors, blocks, queries, codes, depth)


def chosen_methods(scoring: ScoringSettings, runs: Sequence[Path] = ()) -> list[str]:
    """Return the methods to score: those of the settings, else all lexical ones and the encoders.

    A keeper, who has sealed answers and runs of others, needs no method beside those that are
    named.

    Raises:
        UnknownNameError: A method is not made of retrievers and encoders.
    """
    methods = scoring.evaluation.methods
    for method in methods:
        components(method)
    if methods or (runs and scoring.evaluation.answers):
        return [*methods]
    return [*retrievers.names(), *scoring.search.encoders]


def rank_vectors(
    query_vectors: Mapping[str, Singles],
    codes: Codes,
    query_ids: Sequence[str],
    code_ids: Sequence[str],
    depth: int,
) -> Rankings:
    """Return the ``depth`` codes with the highest mean similarity for each query, found exactly.

    Args:
        query_vectors: Encoder → (n, d) vectors.
        codes: The vectors of the codes by the same encoders.
        query_ids: (n,) in the order of the vectors.
        code_ids: Ids in ascending order, to which the codes' positions refer.
        depth: Length of the rankings.
    """
    hits = search(query_vectors, codes, depth)
    return Rankings(query_ids, code_ids, hits.positions, hits.similarities)


def fuse(rankings: Sequence[Rankings], depth: int, constant: int = 60) -> Rankings:
    """Return rankings by the sum of 1 / (constant + rank) over those given.

    Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009, SIGIR), which needs ranks alone, so
    that a cosine and a BM25 score can be fused. A code that a ranking lacks gets nothing from it.

    Args:
        rankings: Of the same queries; a query that one lacks is ranked by the others.
        depth: Length of the fused rankings.
        constant: Damps how much the first ranks outweigh the later ones; 60 as in the paper.
    """
    query_ids, rows = _numbered([ranking.query_ids for ranking in rankings])
    code_ids, columns = _numbered([ranking.code_ids for ranking in rankings])
    shape = (len(query_ids), len(code_ids))
    total = sparse.csr_array(shape)
    for ranking, own_rows, own_columns in zip(rankings, rows, columns, strict=True):
        which, ranks = np.nonzero(ranking.codes != NOTHING)
        places = own_rows[which], own_columns[ranking.codes[which, ranks]]
        total = total + sparse.csr_array((1 / (constant + ranks + 1), places), shape)
    found = total.tocoo()
    return rank_numbered(query_ids, found.row, code_ids, found.col, found.data).cut(depth)


def _numbered(lists: Sequence[Sequence[str]]) -> tuple[list[str], list[npt.NDArray[np.int64]]]:
    """Return all names in ascending order, and of each list the positions of its names in it."""
    names = sorted(set().union(*lists))
    position = {name: number for number, name in enumerate(names)}
    return names, [np.array([position[name] for name in some], np.int64) for some in lists]
