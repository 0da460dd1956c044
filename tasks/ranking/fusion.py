"""Fusion of several rankings into one."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tasks.benchmarks.runs import NOTHING, Rankings, rank_numbered


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
