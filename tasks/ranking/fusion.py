"""Fusion of several rankings into one."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.search.scores import Doubles, Rows, places

_QUERIES = 1_024  # fused at once
# (entries,) rows, codes and scores.
Entries = tuple[Rows, Rows, Doubles]


def fuse(rankings: Sequence[Rankings], depth: int, constant: int = 60) -> Rankings:
    """Return rankings by the sum of 1 / (constant + rank) over those given.

    Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009, SIGIR), which needs ranks alone, so
    that a cosine and a BM25 score can be fused. A code that a ranking lacks gets nothing from it.

    Args:
        rankings: Of the same queries; a query that one lacks is ranked by the others.
        depth: Length of the fused rankings.
        constant: Damps how much the first ranks outweigh the later ones; 60 as in the paper.
    """
    query_ids, rows_of = _numbered([ranking.query_ids for ranking in rankings])
    code_ids, numbers_of = _numbered([ranking.code_ids for ranking in rankings])
    fused = np.full((len(query_ids), min(depth, len(code_ids))), NOTHING, np.int32)
    scores = np.zeros(fused.shape)
    for first in range(0, len(query_ids), _QUERIES):
        entries = []
        for ranking, rows, numbers in zip(rankings, rows_of, numbers_of, strict=True):
            here = np.flatnonzero((rows >= first) & (rows < first + _QUERIES))
            which, ranks = np.nonzero(ranking.codes[here] != NOTHING)
            codes = ranking.codes[here[which], ranks]
            entries.append((rows[here[which]], numbers[codes], 1 / (constant + ranks + 1)))
        found, codes, values = _summed(entries)
        order = np.lexsort((codes, -values, found))
        place = places(found[order])
        kept, slots = order[place < depth], place[place < depth]
        fused[found[kept], slots], scores[found[kept], slots] = codes[kept], values[kept]
    longest = int((fused != NOTHING).sum(axis=1).max(initial=0))
    return Rankings(query_ids, code_ids, fused[:, :longest], scores[:, :longest])


def _numbered(lists: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[npt.NDArray[np.int64]]]:
    """Return all names in ascending order, and of each list the positions of its names in it."""
    names = sorted(set().union(*lists))
    position = {name: number for number, name in enumerate(names)}
    return names, [np.array([position[name] for name in some], np.int64) for some in lists]


def _summed(entries: Sequence[Entries]) -> Entries:
    """Return each row and code once, with the sum of its scores in the order of the entries."""
    rows, codes, values = map(np.concatenate, zip(*entries, strict=True))
    order = np.lexsort((codes, rows))
    rows, codes, values = rows[order], codes[order], values[order]
    if not len(rows):
        return rows, codes, values
    starts = np.flatnonzero((np.diff(rows, prepend=-1) != 0) | (np.diff(codes, prepend=-1) != 0))
    return rows[starts], codes[starts], np.add.reduceat(values, starts)
