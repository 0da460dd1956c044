"""Exact search over vectors: one pass over the codes for up to some ten thousand queries.

Codes are scored by the inner products of their vectors, which are cosines where these are of unit
length. The mean of several encoders' scores, each by its weight, is one inner product of their
concatenated vectors divided by their number, so one search serves any ensemble. torch multiplies
each block of codes with all queries in single precision, on a GPU where there is one, while the
next block is read, and merges the block's best with the top k of the blocks before. The top k of
all blocks is scored in double precision. Equal scores are ranked by position.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from infra.errors import EncoderError
from tasks.search.scores import (
    ROUNDING,
    Codes,
    Doubles,
    Floats,
    Positions,
    Rows,
    Singles,
    lengths_of,
    score_pairs,
)

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

QUERIES, CODES = 1_000, 8_192  # of a block of scores, 33 MB
_SPARE = 16  # codes found beyond the k best and k / 8 more: those within rounding of the k-th
_WIDER = 8  # times as many, for queries with more codes than these within rounding
_PASS_BYTES = 2_000_000_000  # for the queries of one pass


@dataclass(frozen=True, eq=False)
class Hits:
    """The best codes of each query, best first; k or, where there are fewer codes, all of them.

    Attributes:
        positions: (queries, k)
        scores: (queries, k, encoders) inner products, which are cosines of unit vectors.
        similarities: (queries, k) means of the weighted scores, falling; equal ones by position.
    """

    positions: Positions
    scores: Doubles
    similarities: Doubles


def search(
    queries: Mapping[str, Floats],
    codes: Codes,
    k: int,
    weights: Mapping[str, Doubles] | None = None,
) -> Hits:
    """Return for each query the ``k`` codes with the highest mean score over the encoders.

    Args:
        queries: Encoder → (n, d) vectors.
        codes: The vectors of the codes by the same encoders.
        k: At least 1.
        weights: Encoder → (n,) factors of its scores before the mean; None are 1.

    Raises:
        EncoderError: The dimensions of queries and codes differ.
    """
    number = len(next(iter(queries.values())))
    factors = np.ones((number, len(queries)))
    if weights is not None:
        factors = np.stack([weights[name] for name in queries], axis=1)
    return _search(queries, factors, codes, k, k // 8 + _SPARE)


def max_normalisers(queries: Mapping[str, Floats], codes: Codes) -> dict[str, Doubles]:
    """Return encoder → (n,) 1 / the largest absolute cosine of each query with any code.

    As weights of `search` they divide each encoder's scores of a query by their largest absolute
    value, which the code of CoSQA+'s authors does before it sums them. 1 where all are 0.
    """
    weights = {}
    for name, rows in queries.items():
        best = search({name: np.concatenate([rows, -rows])}, codes, 1).similarities
        peaks = best.reshape(2, len(rows), -1).max(axis=(0, 2), initial=0)
        weights[name] = 1 / np.where(peaks > 0, peaks, 1.0)
    return weights


def ranked(
    positions: Positions, cells: tuple[Rows, Rows], scores: Doubles, means: Doubles, k: int
) -> Hits:
    """Return the k best candidates of each query, equal ones by position.

    Args:
        positions: (n, m) codes.
        cells: Rows and columns of those that are candidates, at least k of each query.
        scores: (candidates, encoders)
        means: (candidates,) by which they are ranked.
        k: How many are wanted.
    """
    similarities = np.full(positions.shape, -np.inf)
    similarities[cells] = means
    number_of = np.zeros(positions.shape, np.int64)  # among the candidates
    number_of[cells] = np.arange(len(means))
    order = np.lexsort((positions, -similarities), axis=1)[:, :k]
    return Hits(
        np.take_along_axis(positions, order, axis=1),
        scores[np.take_along_axis(number_of, order, axis=1)],
        np.take_along_axis(similarities, order, axis=1),
    )


def _search(
    queries: Mapping[str, Floats], factors: Doubles, codes: Codes, k: int, spare: int
) -> Hits:
    """Return the k best codes of each query, in as many passes over the codes as memory needs.

    Args:
        queries: Encoder → (n, d) vectors.
        factors: (n, encoders) of the scores before the mean.
        codes: The vectors of the codes.
        k: At least 1.
        spare: How many more codes than k are found in single precision.
    """
    dimensions = sum(rows.shape[1] for rows in queries.values())
    step = max(1, _PASS_BYTES // (8 * dimensions + 100 * (k + spare)))
    passes = []
    for start in range(0, max(1, len(factors)), step):
        here = slice(start, start + step)
        some = {name: rows[here] for name, rows in queries.items()}
        passes.append(_pass(some, factors[here], codes, k, spare))
    return Hits(
        np.concatenate([hits.positions for hits in passes]),
        np.concatenate([hits.scores for hits in passes]),
        np.concatenate([hits.similarities for hits in passes]),
    )


def _pass(
    queries: Mapping[str, Floats], factors: Doubles, codes: Codes, k: int, spare: int
) -> Hits:
    """Return the k best codes of each query; arguments as of `_search`."""
    columns = zip(queries.values(), factors.astype(np.float32).T, strict=True)
    joined = np.hstack([rows * factor[:, None] for rows, factor in columns])
    joined = joined.astype(np.float32, copy=False)
    scores, positions, longest, seen = _best_of_blocks(joined, codes, list(queries), k + spare)
    kth = np.partition(scores, -k, axis=1)[:, -k]
    # The least score that a code among the k best can have.
    least = kth - np.float32(ROUNDING * longest) * lengths_of(joined)
    is_near = (scores >= least[:, None]) & np.isfinite(scores)
    rows, slots = np.nonzero(is_near)
    found = score_pairs(queries, codes, rows, positions[rows, slots])
    means = (found * factors[rows]).mean(axis=1)
    hits = ranked(positions, (rows, slots), found, means, min(k, seen))
    crowded = np.flatnonzero(is_near.all(axis=1))
    if len(crowded) and seen > k + spare:
        some = {name: each[crowded] for name, each in queries.items()}
        wider = _search(some, factors[crowded], codes, k, _WIDER * spare)
        hits.positions[crowded], hits.scores[crowded] = wider.positions, wider.scores
        hits.similarities[crowded] = wider.similarities
    return hits


def _best_of_blocks(
    queries: Singles, codes: Codes, encoders: Sequence[str], most: int
) -> tuple[Singles, Positions, float, int]:
    """Return the highest scores of each query in single precision, by one pass over the codes.

    Args:
        queries: (n, d) of all encoders side by side.
        codes: The vectors of the codes.
        encoders: Their names, in the order of the queries' vectors.
        most: How many scores are returned; where there are fewer codes, the others are -inf.

    Returns:
        (n, most) scores, their codes' positions, the length of the longest code's vector, and the
        number of codes.
    """
    import torch  # noqa: PLC0415 - takes two seconds, which commands without a search save

    torch.set_float32_matmul_precision("highest")  # no TF32: `ROUNDING` is that of float32
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # Codes times queries, (m, d) by (d, n), is an eighth faster than queries times codes.
    matrix = torch.from_numpy(queries).T.contiguous().to(device)
    scores = torch.full((len(queries), most), -torch.inf, device=device)
    positions = torch.zeros((len(queries), most), dtype=torch.int32, device=device)
    products = torch.empty(CODES * min(len(queries), QUERIES), device=device)
    longest, seen = 0.0, 0
    for block_positions, joined in _ahead(_joined(codes, encoders, queries.shape[1])):
        seen += len(joined)
        block = torch.from_numpy(joined).to(device)
        place = torch.tensor(block_positions, device=device)
        longest = max(longest, float(block.norm(dim=1).max()))
        for first in range(0, len(queries), QUERIES):
            some = slice(first, first + QUERIES)
            asked = matrix[:, some]
            shape = len(block), asked.shape[1]
            found = torch.mm(block, asked, out=products[: shape[0] * shape[1]].view(shape))
            _merge(scores[some], positions[some], found, place)
    return scores.cpu().numpy(), positions.cpu().numpy(), longest, seen


def _joined(
    codes: Codes, encoders: Sequence[str], dimensions: int
) -> Iterator[tuple[Positions, Singles]]:
    """Yield positions of at most `CODES` codes and their encoders' vectors side by side.

    What is yielded is overwritten when the one after the next is asked for.
    """
    buffers = cycle([np.empty((CODES, dimensions), np.float32) for _ in range(2)])
    for positions, vectors in codes():
        for start in range(0, len(positions), CODES):
            here = slice(start, start + CODES)
            parts = [vectors[name][here] for name in encoders]
            width = sum(part.shape[1] for part in parts)
            if width != dimensions:
                raise EncoderError(
                    f"{' + '.join(encoders)}: vectors of {dimensions} dimensions for queries "
                    f"and of {width} for codes: remove the encoders' folders from the "
                    "store's `vectors` and run `cosqa collect` again"
                )
            rows = next(buffers)[: len(parts[0])]
            yield positions[here], np.concatenate(parts, axis=1, out=rows, casting="same_kind")


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items, each of which a thread makes while the one before is used."""
    with ThreadPoolExecutor(1, "reader") as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item


def _merge(
    scores: "torch.Tensor", positions: "torch.Tensor", found: "torch.Tensor", place: "torch.Tensor"
) -> None:
    """Put the scores of a block that are higher than the least into their places.

    Args:
        scores: (n, most) the highest of the blocks before.
        positions: (n, most) of their codes.
        found: (m, n) of the block's codes.
        place: (m,) their positions.
    """
    import torch  # noqa: PLC0415 - as above

    least = scores.amin(dim=1)
    if least.min() == -torch.inf:  # in the first blocks there is a place for every code
        more, places = found.T, place.expand(len(scores), -1)
    else:
        columns, rows = (found > least).nonzero(as_tuple=True)
        order = rows.argsort(stable=True)
        columns, rows = columns[order], rows[order]
        numbers = rows.bincount(minlength=len(scores))
        slots = torch.arange(len(rows), device=rows.device) - (numbers.cumsum(0) - numbers)[rows]
        shape = len(scores), int(numbers.max())
        more = torch.full(shape, -torch.inf, device=scores.device)
        more[rows, slots] = found[columns, rows]
        places = torch.zeros(shape, dtype=torch.int32, device=scores.device)
        places[rows, slots] = place[columns]
    best = torch.cat([scores, more], 1).topk(scores.shape[1], dim=1, sorted=False)
    positions[:] = torch.cat([positions, places], 1).gather(1, best.indices)
    scores[:] = best.values
