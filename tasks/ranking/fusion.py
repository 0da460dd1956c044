"""Fusion of several rankings into one."""

from collections.abc import Sequence

import numpy as np

from tasks.benchmarks.runs import NOTHING, Rankings, rankings_of


def fuse(rankings: Sequence[Rankings], depth: int, constant: int = 60) -> Rankings:
    """Return rankings by the sum of 1 / (constant + rank) over those given.

    Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009, SIGIR), which needs ranks alone, so
    that a cosine and a BM25 score can be fused. A code that a ranking lacks gets nothing from it.

    Args:
        rankings: Of the same queries; a query that one lacks is ranked by the others.
        depth: Length of the fused rankings.
        constant: Damps how much the first ranks outweigh the later ones; 60 as in the paper.
    """
    fused: dict[str, dict[str, float]] = {}
    for ranking in rankings:
        for query, codes in zip(ranking.query_ids, ranking.codes, strict=True):
            scores = fused.setdefault(query, {})
            for rank, code in enumerate(codes[codes != NOTHING].tolist(), 1):
                name = ranking.code_ids[code]
                scores[name] = scores.get(name, 0.0) + 1 / (constant + rank)
    return _cut(rankings_of(fused), depth)


def _cut(rankings: Rankings, depth: int) -> Rankings:
    codes, scores = rankings.codes[:, :depth], rankings.scores[:, :depth]
    return Rankings(rankings.query_ids, rankings.code_ids, codes, np.ascontiguousarray(scores))
