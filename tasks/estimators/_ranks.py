"""Ranks of codes among the codes of a list of pairs, as CodeXGLUE's evaluator has them."""

import numpy as np

from tasks.estimators._pairs import PairVectors
from tasks.search.scores import (
    ROUNDING,
    Rows,
    cosines,
    passing,
    score_blocks,
    scores_of_pairs,
    unit_singles,
)

Ranks = Rows
_PART = 256  # queries whose scores are looked through at once


def ranks_among(pairs: PairVectors, rows: Rows | None = None) -> Ranks:
    """Return the rank of each pair's own code among the codes of the list, by its query's cosine.

    The rank is 1 + the number of other pairs whose code scores at least as high, so ties count
    against a pair, and a repeated pair ties with itself (KAPE, Algorithm 1; CodeXGLUE's evaluator).

    Args:
        pairs: The pairs.
        rows: (n,) the list as rows of ``pairs``, repeats allowed; None is all of them, once.

    Returns:
        (n,) ranks from 1.
    """
    chosen = np.arange(len(pairs)) if rows is None else rows
    distinct, place, times = np.unique(chosen, return_inverse=True, return_counts=True)
    alone = PairVectors(pairs.queries[distinct], pairs.codes[distinct])
    return _ranks(alone, times)[place]


def _ranks(pairs: PairVectors, times: Rows) -> Ranks:
    """Return the ranks of distinct pairs, each of which is in the list so many times."""
    everything = np.arange(len(pairs))
    own = scores_of_pairs(pairs.queries, pairs.codes, everything, everything, cosines)
    bounds = own.astype(np.float32) - ROUNDING
    ranks = np.zeros(len(pairs), np.int64)
    for here, codes, scores in score_blocks(unit_singles(pairs.queries), unit_singles(pairs.codes)):
        for first in range(here.start, here.stop, _PART):
            part = slice(first, min(first + _PART, here.stop))
            within = slice(part.start - here.start, part.stop - here.start)
            rows, columns, values = passing(scores[within], bounds[part])
            queries, items = rows + first, columns + codes.start
            at_least = values > own[queries] + ROUNDING
            unsure = np.flatnonzero(~at_least)
            exact = scores_of_pairs(
                pairs.queries, pairs.codes, queries[unsure], items[unsure], cosines
            )
            at_least[unsure] = exact >= own[queries[unsure]]
            ranks += np.bincount(queries, times[items] * at_least, len(ranks)).astype(np.int64)
    return ranks
