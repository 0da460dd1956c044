"""Unjudged results among the first of a ranking: their share, and which to judge next.

A benchmark's labels cover the pool: the results of the methods that were used to build it. A new
method returns other codes, and counting them as not relevant may be unfair to it (Zobel 1998,
SIGIR; Buckley and Voorhees 2004, SIGIR).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from infra.records import Record
from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.metrics import Qrels

DEPTH = 10


class Unjudged(Record):
    """An unjudged pair with its best rank, and the methods that return it so early."""

    query_id: str
    code_id: str
    rank: int
    methods: tuple[str, ...]


def judged_share(rankings: Rankings, qrels: Qrels, depth: int = DEPTH) -> float:
    """Return the share of judged pairs among the first results of all judged queries.

    The measure judged@k of incomplete collections; 1 where nothing was returned.
    """
    returned = judged = 0
    for query, codes in _first(rankings, depth):
        if query in qrels:
            returned += len(codes)
            judged += sum(code in qrels[query] for code in codes)
    return judged / returned if returned else 1.0


def unjudged_results(
    runs: Mapping[str, Rankings], qrels: Qrels, depth: int = DEPTH
) -> list[Unjudged]:
    """Return the unjudged pairs among the first results of any method, the highest ranked first.

    Args:
        runs: Method → rankings.
        qrels: Query → code → relevance; queries that it lacks are left out.
        depth: How many first results of a query count.
    """
    ranks: dict[tuple[str, str], dict[str, int]] = {}
    for method, rankings in runs.items():
        for query, codes in _first(rankings, depth):
            for rank, code in enumerate(codes, 1):
                if query in qrels and code not in qrels[query]:
                    ranks.setdefault((query, code), {})[method] = rank
    pairs = [
        Unjudged(
            query_id=query,
            code_id=code,
            rank=min(by_method.values()),
            methods=tuple(sorted(by_method)),
        )
        for (query, code), by_method in ranks.items()
    ]
    return sorted(
        pairs, key=lambda pair: (pair.rank, -len(pair.methods), pair.query_id, pair.code_id)
    )


def _first(rankings: Rankings, depth: int) -> Sequence[tuple[str, list[str]]]:
    cut = np.asarray(rankings.codes[:, :depth])
    return [
        (query, [rankings.code_ids[code] for code in row if code != NOTHING])
        for query, row in zip(rankings.query_ids, cut.tolist(), strict=True)
    ]
