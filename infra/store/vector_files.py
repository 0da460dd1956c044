"""Parquet files of vectors, one for each shard, written atomically.

A file has two columns: ``item_id`` and ``vector``, a fixed-size list of float32 of unit length.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from infra.atomic import atomic_write
from infra.errors import StoreError
from infra.store import Database, vectors

Vectors = npt.NDArray[np.float32]

# Numbers in vectors hardly repeat: a dictionary makes files 1.5 times larger and writing 40 times
# slower. Byte-stream split groups signs and exponents, which zstd compresses well.
_ENCODING: dict[str, Any] = {
    "use_dictionary": False,
    "use_byte_stream_split": ["vector.list.element"],
    "compression": "zstd",
}


def write_vectors(file: Path, item_ids: Sequence[str], rows: Vectors) -> None:
    """Write (n,) ids and (n, d) vectors to a file, atomically."""
    flat = pa.array(np.ascontiguousarray(rows, dtype=np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    table = pa.table({"item_id": pa.array(item_ids, pa.string()), "vector": column})
    with atomic_write(file) as partial:
        pq.write_table(table, partial, **_ENCODING)


def read_vectors(file: Path) -> tuple[list[str], Vectors]:
    """Return the (n,) ids and (n, d) vectors of a file.

    Raises:
        StoreError: The file is missing or damaged.
    """
    try:
        table = pq.read_table(file)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"cannot read the vectors in {file}: {error}; delete the file, if it exists, and run "
            "`cosqa collect` again, which writes it anew"
        ) from error
    column = table["vector"].combine_chunks()
    ids: list[str] = table["item_id"].to_pylist()
    return ids, column.flatten().to_numpy().reshape(len(ids), column.type.list_size)


class StoredVectors:
    """The vectors of a collection's items by one encoder, read from their files on demand.

    Args:
        database: The store.
        collection: The collection's name.
        encoder_key: Digest of the encoder's specification.
        kind: Queries or codes.
    """

    def __init__(
        self, database: Database, collection: str, encoder_key: str, kind: vectors.Kind
    ) -> None:
        self._folder = database.settings.vectors
        files = vectors.files_of(database, collection, encoder_key, kind)
        self._file_of = {item: file for file, items in files.items() for item in items}

    def load(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of these items as one (n, d) array, in the order of ``ids``.

        Raises:
            StoreError: A file is missing or damaged, or an item has not been embedded.
        """
        return load_vectors(self._folder, self._file_of, ids)


def load_vectors(folder: Path, file_of: Mapping[str, str], ids: Sequence[str]) -> Vectors:
    """Return the vectors of items as one (n, d) array, in the order of ``ids``.

    Args:
        folder: The folder of the files.
        file_of: Item → the file with its vector.
        ids: The items; ids may repeat.

    Raises:
        StoreError: A file is missing or damaged, or an item is in no file.
    """
    wanted: dict[str, list[int]] = defaultdict(list)
    for position, item in enumerate(ids):
        if item not in file_of:
            raise StoreError(f"{item} has no vector yet; run `cosqa collect` first")
        wanted[file_of[item]].append(position)
    loaded = np.empty((0, 0), np.float32)
    for file, positions in wanted.items():
        stored_ids, rows = read_vectors(folder / file)
        if not loaded.size:
            loaded = np.empty((len(ids), rows.shape[1]), np.float32)
        row_of = {item: row for row, item in enumerate(stored_ids)}
        loaded[positions] = rows[[row_of[ids[position]] for position in positions]]
    return loaded
