"""Files of vectors, each written whole or not at all.

A file has two columns: ``item_id`` and ``vector``, a fixed-size list of float32 of unit length. It
is in Arrow's IPC format, uncompressed, and read by mapping it into memory: nothing is decoded or
copied. Earlier releases wrote the same columns as compressed Parquet, which is read as well.
"""

import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from infra.atomic import atomic_write
from infra.disk import space_on
from infra.errors import StoreError

Vectors = npt.NDArray[np.float32]

_PARQUET = b"PAR1"
_WAY_OUT = "move the store to a larger disk and name it with --store"


def write_vectors(file: Path, item_ids: Sequence[str], rows: Vectors) -> None:
    """Write (n,) ids and (n, d) vectors to a file, atomically.

    Raises:
        DiskFullError: The disk is full; the file is as it was before.
    """
    flat = pa.array(np.ascontiguousarray(rows, dtype=np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    table = pa.table({"item_id": pa.array(item_ids, pa.string()), "vector": column})
    with (
        space_on(file.parent, _WAY_OUT),
        atomic_write(file) as partial,
        pa.ipc.new_file(partial, table.schema) as sink,
    ):
        sink.write_table(table)


class VectorFile:
    """A file of vectors, whose columns are read when they are asked for.

    Args:
        file: The file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    @cached_property
    def ids(self) -> pa.ChunkedArray:
        """The (n,) ids of the items; the vectors are not read for them.

        Raises:
            StoreError: The file is missing or damaged.
        """
        with self._readable():
            if self._is_parquet:
                return _typed(pq.read_table(self._file, columns=["item_id"]), "item_id")
            with pa.OSFile(str(self._file)) as source:  # a mapped file would stay open
                only_ids = pa.ipc.IpcReadOptions(included_fields=[0])
                return _typed(pa.ipc.open_file(source, options=only_ids).read_all(), "item_id")

    @cached_property
    def rows(self) -> Vectors:
        """The (n, d) vectors, which are not to be written to.

        Raises:
            StoreError: The file is missing or damaged.
        """
        with self._readable():
            chunked = self._vectors()
            chunks = chunked.chunks  # combining copies even a single one
            column = chunks[0] if len(chunks) == 1 else chunked.combine_chunks()
            found: Vectors = column.flatten().to_numpy().reshape(len(column), column.type.list_size)
        return found

    def _vectors(self) -> pa.ChunkedArray:
        if self._is_parquet:
            return _typed(pq.read_table(self._file, columns=["vector"]), "vector")
        with self._file.open("rb") as stream:
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))).read_all()
        return _typed(table, "vector")

    @cached_property
    def _is_parquet(self) -> bool:
        with self._file.open("rb") as stream:
            return stream.read(len(_PARQUET)) == _PARQUET

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise StoreError(
                f"cannot read the vectors in {self._file}: {error}; delete the file, if it exists, "
                "and run `cosqa collect` again, which writes it anew"
            ) from error


def _typed(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column; raise ``TypeError`` where it is not of the type that is written."""
    kind = table.schema.field(name).type
    is_list = pa.types.is_fixed_size_list(kind) and kind.value_type == pa.float32()
    if not (is_list if name == "vector" else kind == pa.string()):
        raise TypeError(f"the column {name} is of type {kind}")
    return table[name]


def read_vectors(file: Path) -> tuple[list[str], Vectors]:
    """Return the (n,) ids and (n, d) vectors of a file.

    Raises:
        StoreError: The file is missing or damaged.
    """
    opened = VectorFile(file)
    return opened.ids.to_pylist(), opened.rows


def read_ahead(file: Path) -> None:
    """Ask the system to read a file into its cache, where it takes such advice; return at once."""
    if not hasattr(os, "posix_fadvise") or not file.exists():
        return
    with file.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
