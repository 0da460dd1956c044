"""Matrix products of queries and codes on a processor, and the scores in them that pass a bound.

`NumpyProducts` multiplies by NumPy's BLAS, `TorchProducts` on a GPU, which sends back only what
passes. Both are given the same blocks and return the same pairs.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from tasks.search.held import Held
from tasks.search.scores import Found, Singles, found_at, reaching

if TYPE_CHECKING:
    import torch

Matrix = TypeVar("Matrix")
_log = logging.getLogger(__name__)
_DRIVER = Path("/proc/driver/nvidia/version")
_GPU_BYTES = 4_000_000_000  # a context, a block of codes, its scores and mask, the queries
_FEW = 2  # times k: so many scores of a query may pass before the block itself raises the bound


class Products(Protocol[Matrix]):
    """Products of blocks, whose matrices are the processor's own.

    Attributes:
        codes_at_once: Rows of codes in a product.
        queries_at_once: Rows of queries in a product.
        part: Rows of a product that are looked through at once.
        threads: How many parts are looked through at the same time.
    """

    codes_at_once: int
    queries_at_once: int
    part: int
    threads: int

    def put(self, rows: Singles) -> Matrix:
        """Return a matrix of the processor."""
        ...

    def multiply(self, queries: Matrix, codes: Matrix, *, absolute: bool) -> Matrix:
        """Return (n, m) scores, or their absolute values; the next product overwrites them."""
        ...

    def column_scores(self, scores: Matrix) -> Singles:
        """Return the (m,) scores of the first query."""
        ...

    def passing(self, scores: Matrix, rows: slice, held: Held) -> Found:
        """Return which scores of some rows reach the bounds, which are raised where many do."""
        ...


class NumpyProducts:
    """Products by NumPy's BLAS, with all its threads.

    Args:
        threads: Threads that look through the scores.
    """

    codes_at_once, queries_at_once, part = 8_192, 2_048, 256

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._buffer = np.empty(0, np.float32)

    def put(self, rows: Singles) -> Singles:
        """Return the rows themselves."""
        return rows

    def multiply(self, queries: Singles, codes: Singles, *, absolute: bool) -> Singles:
        """Return (n, m) scores in a buffer of at most 64 MB."""
        shape = len(queries), len(codes)
        if self._buffer.size < shape[0] * shape[1]:
            self._buffer = np.empty(shape[0] * shape[1], np.float32)
        scores = self._buffer[: shape[0] * shape[1]].reshape(shape)
        np.matmul(queries, codes.T, out=scores)
        return np.abs(scores, out=scores) if absolute else scores

    def column_scores(self, scores: Singles) -> Singles:
        """Return the (m,) scores of the first query."""
        first: Singles = scores[0]
        return first

    def passing(self, scores: Singles, rows: slice, held: Held) -> Found:
        """Return which scores of some rows reach the bounds."""
        scores = scores[rows]
        queries, codes = scores.shape
        cells = reaching(scores, held.bounds)
        if codes > held.k and len(cells) > _FEW * held.k * queries:
            held.raise_bounds(np.partition(scores, codes - held.k, axis=1)[:, codes - held.k])
            cells = reaching(scores, held.bounds)
        return found_at(scores, cells)


class TorchProducts:
    """Products by torch on one device, in full single precision.

    Args:
        device: torch's name of the device.
    """

    codes_at_once, queries_at_once, part, threads = 65_536, 2_048, 2_048, 1

    def __init__(self, device: str) -> None:
        import torch  # noqa: PLC0415 - takes two seconds, which a machine without a GPU saves

        self._torch = torch
        self._device = device
        torch.set_float32_matmul_precision("highest")  # no TF32: bounds trust float32

    def put(self, rows: Singles) -> "torch.Tensor":
        """Return a copy on the device."""
        return self._torch.tensor(rows, device=self._device)

    def multiply(
        self, queries: "torch.Tensor", codes: "torch.Tensor", *, absolute: bool
    ) -> "torch.Tensor":
        """Return (n, m) scores on the device."""
        scores = queries @ codes.T
        return scores.abs_() if absolute else scores

    def column_scores(self, scores: "torch.Tensor") -> Singles:
        """Return the (m,) scores of the first query."""
        first: Singles = scores[0].cpu().numpy()
        return first

    def passing(self, scores: "torch.Tensor", rows: slice, held: Held) -> Found:
        """Return which scores of some rows reach the bounds; only these leave the device."""
        scores = scores[rows]
        queries, codes = scores.shape
        mask = scores >= self.put(held.bounds)[:, None]
        if codes > held.k and int(mask.sum()) > _FEW * held.k * queries:
            held.raise_bounds(scores.topk(held.k, dim=1).values[:, -1].cpu().numpy())
            mask = scores >= self.put(held.bounds)[:, None]
        which, columns = mask.nonzero(as_tuple=True)
        values = scores[which, columns]
        return which.cpu().numpy(), columns.cpu().numpy(), values.cpu().numpy()


def products_here(threads: int) -> Products[Any]:
    """Return products on the first GPU of this machine if it has room, else on its cores.

    Args:
        threads: Number of cores to use.
    """
    return TorchProducts("cuda") if _has_room_on_gpu() else NumpyProducts(threads)


def _has_room_on_gpu() -> bool:
    """Return whether there is a GPU whose memory others have left free, a model server, say."""
    if not _DRIVER.exists():
        return False
    import torch  # noqa: PLC0415 - as above

    if not torch.cuda.is_available():
        return False
    try:
        free, _ = torch.cuda.mem_get_info()
    except RuntimeError:  # no room even for the context that a process has on a GPU
        free = 0
    if free < _GPU_BYTES:
        _log.warning(
            "the GPU has %.1f GB free where a search takes up to %.0f GB: searching on the cores",
            free / 1e9, _GPU_BYTES / 1e9,
        )  # fmt: skip
    return free >= _GPU_BYTES
