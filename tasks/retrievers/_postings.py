"""Ranking by weighted words: for each word the texts that have it, and what it adds to scores."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from scipy import sparse

from infra.machine import this_machine
from tasks.benchmarks.runs import NOTHING, Rankings, best
from tasks.retrievers._counts import Counts, documents, narrow

# (texts, words) counts of some texts → the weight of each stored count.
Weigh = Callable[[Counts], npt.NDArray[np.floating]]

_TEXTS_AT_ONCE = 1 << 13


def rank_by_words(
    query_ids: Sequence[str],
    code_ids: Sequence[str],
    asked: sparse.csr_array,
    counts: Counts,
    weigh: Weigh,
    depth: int,
) -> Rankings:
    """Return the codes with the highest sums of weights over the words of each query.

    A code whose sum is 0 is left out: it shares no word of any weight with the query, and its rank
    would be that of its id. For the arguments see `rank_all_by_words`.
    """
    rankings = rank_all_by_words(query_ids, code_ids, asked, counts, weigh, depth)
    rankings.codes[rankings.scores <= 0] = NOTHING
    return rankings


def rank_all_by_words(
    query_ids: Sequence[str],
    code_ids: Sequence[str],
    asked: sparse.csr_array,
    counts: Counts,
    weigh: Weigh,
    depth: int,
) -> Rankings:
    """Return the codes with the highest sums of weights, and after them those without any, by id.

    A query reads the codes of its own words only, by SciPy's product of a sparse matrix and a
    vector; several queries run at once, since that product lets other threads run. Memory is that
    of the counts and weights, and for each thread a score for every code.

    Args:
        query_ids: (n,) one for each row of ``asked``.
        code_ids: (m,) one for each row of ``counts``, in ascending order.
        asked: (n, words) weights in the queries, of the type in which scores are added, and in
            their order in a row; a word may come several times.
        counts: (m, words) counts.
        weigh: Returns the weights in the codes.
        depth: Length of the rankings.
    """
    words, columns = np.unique(asked.indices, return_inverse=True)
    weights = _weights_by_word(counts, words, weigh, asked.dtype)
    depth = min(depth, len(code_ids))
    codes = np.empty((len(query_ids), depth), np.int32)
    scores = np.empty((len(query_ids), depth))

    def rank(row: int) -> None:
        own = slice(asked.indptr[row], asked.indptr[row + 1])
        found = weights[:, columns[own]] @ asked.data[own]
        codes[row] = best(found, depth)
        scores[row] = found[codes[row]]

    with ThreadPoolExecutor(this_machine().cores) as threads:
        try:
            deque(threads.map(rank, range(len(query_ids))), maxlen=0)
        except BaseException:  # an interrupted run must not rank the rest first
            threads.shutdown(cancel_futures=True)
            raise
    return Rankings(query_ids, code_ids, codes, scores)


def _weights_by_word(
    counts: Counts,
    words: npt.NDArray[np.integer],
    weigh: Weigh,
    dtype: np.dtype[np.floating],
) -> sparse.csc_array:
    """Return (texts, chosen words) weights, stored word by word, the texts in rising order.

    The texts are weighed some at a time and put in their places, so that the memory is that of the
    result; converting a whole matrix would take twice as much.
    """
    ends = np.append(0, np.cumsum(documents(counts)[words]))
    rows, weights = np.empty(ends[-1], np.int32), np.empty(ends[-1], dtype)
    filled = ends[:-1].copy()
    for start in range(0, counts.shape[0], _TEXTS_AT_ONCE):
        block = counts[start : start + _TEXTS_AT_ONCE]
        weighed = sparse.csr_array((weigh(block), block.indices, block.indptr), block.shape)
        chosen = weighed[:, words].tocsc()
        spread = np.diff(chosen.indptr)
        target = np.repeat(filled - chosen.indptr[:-1], spread) + np.arange(chosen.nnz)
        rows[target] = chosen.indices + start
        weights[target] = chosen.data
        filled += spread
    return sparse.csc_array((weights, rows, narrow(ends)), shape=(counts.shape[0], len(words)))
