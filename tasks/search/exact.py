"""Exact search over vectors: one pass over the codes, whatever the number of queries.

Codes are scored by the inner products of their vectors, which are cosines where these are of unit
length. The mean of several encoders' cosines, each by its weight, is one inner product of their
concatenated vectors divided by their number, so one search serves any ensemble. torch multiplies
each block of codes with all queries in single precision, on a GPU where there is one, and merges
the block's top k with that of the blocks before. The top k of all blocks is scored in double
precision; where more codes lie within rounding of the k-th than were kept, a second pass scores
all of these. Equal scores fall by position.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from infra.errors import EncoderError
from tasks.search.scores import (
    OFF_UNIT,
    ROUNDING,
    Block,
    Codes,
    Doubles,
    Floats,
    Positions,
    Rows,
    Singles,
    cosines,
    inner_products,
    lengths_of,
    places,
    score_pairs,
    scores_of_pairs,
    unit_singles,
)

if TYPE_CHECKING:
    import torch

Candidates = tuple[Rows, Positions, Doubles]  # queries, codes and means of their scores

QUERIES, CODES = 1_000, 8_192  # of a block of scores, whose 33 MB the next block takes again
_GROUP = 32  # scores whose maximum decides whether they are looked at
_SPARE = 16  # kept beside the k best, and k / 8: those within rounding of the k-th
_RESCANNED = 64  # queries of a second pass at once
_DRIVER = Path("/proc/driver/nvidia/version")
_GPU_BYTES = 4_000_000_000  # a context, a block of codes, its scores, the queries
_AGAIN = "remove its folder from the store's `vectors` and run `cosqa collect` again"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Hits:
    """The best codes of each query, best first; k or, where there are fewer codes, all of them.

    Attributes:
        positions: (queries, k)
        cosines: (queries, k, encoders) inner products, which are cosines of unit vectors.
        similarities: (queries, k) means of the weighted products, falling; equal ones by position.
    """

    positions: Positions
    cosines: Doubles
    similarities: Doubles


def search(
    queries: Mapping[str, Floats],
    codes: Codes,
    k: int,
    weights: Mapping[str, Doubles] | None = None,
    *,
    absolute: bool = False,
    cosine: bool = False,
) -> Hits:
    """Return for each query the ``k`` codes with the highest mean score over the encoders.

    Args:
        queries: Encoder → (n, d) vectors; if these have unit length, so have those of the codes.
        codes: The vectors of the codes by the same encoders.
        k: At least 1.
        weights: Encoder → (n,) factors of its scores before the mean; None are 1.
        absolute: Whether absolute values of the means count.
        cosine: Whether scores are cosines, of vectors of any length, or inner products.

    Raises:
        EncoderError: A vector is not finite, or the dimensions of queries and codes differ.
    """
    running = _Search(queries, k, weights, absolute=absolute, cosine=cosine)
    for block in codes():
        running.add(block)
    return running.finish(codes)


def search_apart(
    queries: Mapping[str, Floats], codes: Codes, k: int, *, absolute: bool = False
) -> dict[str, Hits]:
    """Return encoder → what `search` finds by it alone, in one pass over the codes for all."""
    running = {
        name: _Search({name: rows}, k, absolute=absolute, cosine=False)
        for name, rows in queries.items()
    }
    for block in codes():
        for one in running.values():
            one.add(block)
    return {name: one.finish(codes) for name, one in running.items()}


def inverse_peaks(queries: Mapping[str, Floats], codes: Codes) -> dict[str, Doubles]:
    """Return encoder → (n,) 1 / the largest absolute cosine of each query with any code.

    As weights of `search` they divide each encoder's scores of a query by their largest absolute
    value, which the code of CoSQA+'s authors does before it sums them. 1 where all are 0.
    """
    peaks = {
        name: np.abs(hits.cosines[:, :1, 0]).sum(axis=1)
        for name, hits in search_apart(queries, codes, 1, absolute=True).items()
    }
    return {name: 1 / np.where(found > 0, found, 1.0) for name, found in peaks.items()}


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


def queries_at_once(dimensions: int, encoders: int, k: int, memory_mb: int) -> int:
    """Return for how many queries one pass over the codes takes at most this much memory.

    The block of codes that is read and its scores, about 500 MB, come on top.

    Args:
        dimensions: Of all encoders together.
        encoders: How many are joined.
        k: Codes for each query.
        memory_mb: Memory in MB.
    """
    vectors = 4 * dimensions * (2 if encoders > 1 else 1)
    kept = 8 * _kept(k)
    scored = k * (40 + 8 * encoders)  # rows, positions, orders and scores of candidates
    results = k * (12 + 8 * encoders)
    return max(1, memory_mb * 1_000_000 // (vectors + kept + scored + results))


def device_here() -> str:
    """Return torch's name of the first GPU of this machine if it has room, else of its cores."""
    if not _DRIVER.exists():
        return "cpu"
    import torch  # noqa: PLC0415 - takes two seconds, which commands without a search save

    if not torch.cuda.is_available():
        return "cpu"
    try:
        free, _ = torch.cuda.mem_get_info()
    except RuntimeError:  # no room even for the context that a process has on a GPU
        free = 0
    if free >= _GPU_BYTES:
        return "cuda"
    _log.warning(
        "the GPU has %.1f GB free where a search takes up to %.0f GB: searching on the cores",
        free / 1e9, _GPU_BYTES / 1e9,
    )  # fmt: skip
    return "cpu"


class _Search:
    """A search to which the codes are added block by block; arguments as those of `search`."""

    def __init__(
        self,
        queries: Mapping[str, Floats],
        k: int,
        weights: Mapping[str, Doubles] | None = None,
        *,
        absolute: bool,
        cosine: bool,
    ) -> None:
        import torch  # noqa: PLC0415 - as above

        torch.set_float32_matmul_precision("highest")  # no TF32: `ROUNDING` is that of float32
        self._torch = torch
        self._device = device_here()
        self._queries = queries
        self._number = len(next(iter(queries.values())))
        self._k = k
        self._absolute = absolute
        self._exact = cosines if cosine else inner_products
        self._rows = unit_singles if cosine else _singles
        self._weights = np.ones((self._number, len(queries)))
        if weights is not None:
            self._weights = np.stack([weights[name] for name in queries], axis=1)
        self._are_unit = True
        joined = np.hstack([self._weighted(*column) for column in enumerate(queries)])
        self._lengths = lengths_of(joined)
        # Codes times queries, (m, d) by (d, n), is an eighth faster than queries times codes.
        self._matrix = torch.from_numpy(joined).T.contiguous().to(self._device)
        self._longest = len(queries) ** 0.5 if self._are_unit else 0.0
        shape = self._number, _kept(k)
        self._scores = torch.full(shape, -torch.inf, device=self._device)
        self._positions = torch.zeros(shape, dtype=torch.int32, device=self._device)
        self._seen = 0
        self._buffer = torch.empty((CODES, joined.shape[1]), dtype=torch.float32)
        self._products = torch.empty(CODES * min(self._number, QUERIES), device=self._device)

    def add(self, block: Block) -> None:
        """Merge the best of a block of codes with those of the blocks before."""
        self._seen += len(block[0])
        for name, queries in self._queries.items():
            if queries.shape[1] != block[1][name].shape[1]:
                raise EncoderError(
                    f"{name!r} gave vectors of {queries.shape[1]} dimensions for "
                    f"queries and of {block[1][name].shape[1]} for codes: {_AGAIN}"
                )
        for positions, parts, codes in self._pieces(block):
            if not self._are_unit:
                self._longest = max(self._longest, float(codes.norm(dim=1).max()))
            for first in range(0, self._number, QUERIES):
                here = slice(first, first + QUERIES)
                scores = self._multiply(codes, self._matrix[:, here])
                if not scores[:, 0].isfinite().all():
                    _refuse_infinite(positions, parts)
                self._merge(here, scores, positions)

    def finish(self, codes: Codes) -> Hits:
        """Return the best of all blocks, by scores in double precision."""
        scores, positions = self._scores.cpu().numpy(), self._positions.cpu().numpy()
        kth = np.partition(scores, -self._k, axis=1)[:, -self._k]
        # The least score that a code among the k best can have.
        bounds = kth - np.float32(ROUNDING * self._longest) * self._lengths
        is_kept = (scores >= bounds[:, None]) & np.isfinite(scores)
        crowded = np.flatnonzero(is_kept.all(axis=1) & (self._seen > scores.shape[1]))
        if len(crowded):
            positions[crowded, : self._k] = self._rescan(codes, crowded, bounds[crowded])
            is_kept[crowded] = np.arange(scores.shape[1]) < self._k
        rows, slots = np.nonzero(is_kept)
        found = score_pairs(self._queries, codes, rows, positions[rows, slots], self._exact)
        means = self._similarities(rows, found)
        return ranked(positions, (rows, slots), found, means, min(self._k, self._seen))

    def _weighted(self, column: int, name: str) -> Singles:
        """Return an encoder's vectors of the queries, each times its weight."""
        rows = self._queries[name]
        if not np.isfinite(rows).all():
            raise EncoderError(f"{name!r} gave a query no finite vector: {_AGAIN}")
        rows = self._rows(rows)
        self._are_unit &= bool(np.all(np.abs(lengths_of(rows) - 1) <= OFF_UNIT))
        weighted: Singles = (rows * self._weights[:, column, None]).astype(np.float32)
        return weighted

    def _pieces(
        self, block: Block
    ) -> "Iterator[tuple[Positions, Mapping[str, Floats], torch.Tensor]]":
        """Yield positions, vectors, and these side by side on the device, at most `CODES` each.

        The next piece overwrites the vectors on the device.
        """
        positions, vectors = block
        for start in range(0, len(positions), CODES):
            here = slice(start, start + CODES)
            parts = {name: vectors[name][here] for name in self._queries}
            joined = self._buffer[: len(positions[here])]
            rows = [self._rows(part) for part in parts.values()]
            np.concatenate(rows, axis=1, out=joined.numpy(), casting="same_kind")
            yield positions[here], parts, joined.to(self._device)

    def _multiply(self, codes: "torch.Tensor", queries: "torch.Tensor") -> "torch.Tensor":
        """Return the scores of (m, d) codes and (d, n) queries; the next ones overwrite them."""
        shape = len(codes), queries.shape[1]
        scores = self._products[: shape[0] * shape[1]].view(shape)
        self._torch.mm(codes, queries, out=scores)
        return scores.abs_() if self._absolute else scores

    def _merge(self, here: slice, scores: "torch.Tensor", positions: Positions) -> None:
        """Keep the best of what is kept of some queries and of the (m, n) scores of a block.

        Only groups of scores are looked at whose greatest is above the least that is kept; if none
        has more such groups than are kept, all of these are.
        """
        torch = self._torch
        kept = self._scores[here]
        missing = -len(scores) % _GROUP
        if missing:
            scores = torch.nn.functional.pad(scores, (0, 0, 0, missing), value=-torch.inf)
        groups = scores.view(-1, _GROUP, scores.shape[1])
        best = groups.amax(dim=1).T
        passing = int((best > kept.amin(dim=1, keepdim=True)).sum(dim=1).max())
        if not passing:
            return
        chosen = best.topk(min(passing, kept.shape[1], best.shape[1]), dim=1, sorted=False).indices
        wanted = chosen[:, :, None].expand(-1, -1, _GROUP)
        values = groups.permute(2, 0, 1).gather(1, wanted).flatten(1)
        merged = torch.cat([kept, values], 1).topk(kept.shape[1], dim=1, sorted=False)
        place = merged.indices - kept.shape[1]  # among the values; below 0 what was kept before
        before = self._positions[here].gather(1, merged.indices.clamp(max=kept.shape[1] - 1))
        columns = _GROUP * chosen.gather(1, (place // _GROUP).clamp(min=0)) + place % _GROUP
        position_of = torch.tensor(np.pad(positions, (0, missing)), device=self._device)
        self._scores[here] = merged.values
        self._positions[here] = torch.where(place < 0, before, position_of[columns])

    def _rescan(self, codes: Codes, rows: Rows, bounds: Singles) -> Positions:
        """Return the (n, k) best of queries that have more than are kept within rounding.

        Args:
            codes: The codes.
            rows: (n,) queries.
            bounds: (n,) scores from which on a code is scored in double precision.
        """
        best: Candidates = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
        least = self._torch.tensor(bounds, device=self._device)
        for block in codes():
            for some, parts, matrix in self._pieces(block):
                for first in range(0, len(rows), _RESCANNED):
                    here = slice(first, first + _RESCANNED)
                    scores = self._multiply(matrix, self._matrix[:, rows[here]])
                    columns, which = (scores >= least[here]).nonzero().cpu().numpy().T
                    which = which + first
                    means = self._similarities(
                        rows[which], self._score_equal(parts, rows[which], columns)
                    )
                    more = which, some[columns], means
                    best = _best(best, more, self._k)
        return best[1].reshape(len(rows), self._k)

    def _score_equal(self, vectors: Mapping[str, Floats], rows: Rows, columns: Rows) -> Doubles:
        """Return the (pairs, encoders) scores of pairs, each query once with all equal codes."""
        chosen, column_of = np.unique(columns, return_inverse=True)
        joined = np.hstack([part[chosen] for part in vectors.values()])
        content = np.ascontiguousarray(joined).view(f"V{joined.shape[1] * joined.itemsize}")
        _, vector_of = np.unique(content[:, 0], return_inverse=True)
        keys = rows * len(chosen) + vector_of[column_of]
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        found = [
            scores_of_pairs(
                self._queries[name], part, rows[first], columns[first], self._exact
            )[back]
            for name, part in vectors.items()
        ]  # fmt: skip
        return np.stack(found, axis=1)

    def _similarities(self, rows: Rows, found: Doubles) -> Doubles:
        """Return the means of pairs' weighted scores, by which they are ranked."""
        means: Doubles = (found * self._weights[rows]).mean(axis=1)
        return np.abs(means) if self._absolute else means


def _kept(k: int) -> int:
    return k + k // 8 + _SPARE


def _singles(rows: Floats) -> Singles:
    return rows.astype(np.float32, copy=False)


def _best(some: Candidates, more: Candidates, k: int) -> Candidates:
    """Return the k best of each row among all candidates; equal ones by position."""
    rows = np.concatenate([some[0], more[0]])
    positions, means = np.concatenate([some[1], more[1]]), np.concatenate([some[2], more[2]])
    order = np.lexsort((positions, -means, rows))
    order = order[places(rows[order]) < k]
    return rows[order], positions[order], means[order]


def _refuse_infinite(positions: Positions, vectors: Mapping[str, Floats]) -> None:
    for name, rows in vectors.items():
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            raise EncoderError(
                f"{name!r} gave no finite vector for {len(wrong)} codes, the first of "
                f"which is number {positions[wrong[0]] + 1} by rising id: {_AGAIN}"
            )
