"""Files of vectors, the table of them, and the vectors of items, read from them by positions.

The store knows files, not rows: which items a file has stands in the file itself.
"""

import mmap
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from infra.errors import StoreError
from infra.files import atomic_write, space_on
from infra.store.database import Database
from infra.summaries import EncodingEffort

Vectors = npt.NDArray[np.float32]
Positions = npt.NDArray[np.int32]
Block = tuple[Positions, dict[str, Vectors]]
Ids: TypeAlias = pa.StringArray
Kind = Literal["query", "code"]

LEAST_ROWS, MOST_ROWS = 8_192, 65_536  # of a block: files are put together or taken in parts
_OPEN_FILES = 4  # of one encoder at once: what is mapped counts as memory of the process
_EFFORT = b"effort"  # in the metadata of a file
_WAY_OUT = "move the store to a larger disk and name it with --store"
_MEMBERS = {
    "query": "SELECT DISTINCT query_id AS item_id FROM collection_queries",
    "code": "SELECT DISTINCT code_id AS item_id FROM collection_codes",
}
_TEXTS = {
    "query": "SELECT query_id AS item_id, text FROM queries",
    "code": "SELECT code_id AS item_id, text FROM codes",
}


def write_vectors(
    file: Path, item_ids: Sequence[str], rows: Vectors, effort: EncodingEffort | None = None
) -> None:
    """Write (n,) ids and (n, d) vectors to a file, atomically, and what it took to make them."""
    flat = pa.array(np.ascontiguousarray(rows, dtype=np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    table = pa.table({"item_id": pa.array(item_ids, pa.string()), "vector": column})
    if effort and effort.texts:
        table = table.replace_schema_metadata({_EFFORT: effort.model_dump_json()})
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
        only_ids = pa.ipc.IpcReadOptions(included_fields=[0])
        # A mapped file would stay open.
        with self._readable(), pa.OSFile(str(self._file)) as source:
            return _typed(pa.ipc.open_file(source, options=only_ids).read_all(), "item_id")

    @cached_property
    def effort(self) -> EncodingEffort:
        """What it took to make the vectors, as far as that is known."""
        known = self._schema.metadata or {}
        with self._readable():
            return EncodingEffort.model_validate_json(known.get(_EFFORT, b"{}"))

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._schema.field("vector").type.list_size)

    @cached_property
    def _schema(self) -> pa.Schema:
        with self._readable(), pa.OSFile(str(self._file)) as source:
            return pa.ipc.open_file(source).schema

    @cached_property
    def rows(self) -> Vectors:
        """The (n, d) vectors, which are not to be written to.

        Raises:
            StoreError: The file is missing or damaged.
        """
        with self._readable():
            with self._file.open("rb") as stream:
                mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))).read_all()
            chunked = _typed(table, "vector")
            chunks = chunked.chunks  # combining copies even a single one
            column = chunks[0] if len(chunks) == 1 else chunked.combine_chunks()
            found: Vectors = column.flatten().to_numpy().reshape(len(column), column.type.list_size)
        return found

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


def record_files(
    database: Database, encoder_key: str, kind: Kind, files: Mapping[str, int]
) -> None:
    """Store that files of vectors, path → number of vectors, have been written, in one transaction.

    A path is that below the folder of vectors.
    """
    own = {"encoder_key": encoder_key, "kind": kind}
    rows = [own | {"file": file, "items": items} for file, items in files.items()]
    with database.transaction() as tx:
        tx.insert("vector_files", rows, on_conflict="ignore")


def delete_files(database: Database, files: Sequence[str]) -> None:
    """Delete the records of lost files, so that their items are embedded again."""
    with database.transaction() as tx, tx.table("lost", {"file": files}):
        tx.execute("DELETE FROM vector_files WHERE file IN (SELECT file FROM lost)")


def files_of(database: Database, encoder_key: str, kind: Kind) -> list[str]:
    """Return an encoder's files, in the order in which they were recorded."""
    return database.column(
        "SELECT file FROM vector_files WHERE encoder_key = ? AND kind = ? "
        "ORDER BY recorded_at, file",
        [encoder_key, kind],
    )


def lost_files(database: Database, encoder_key: str, kind: Kind) -> list[str]:
    """Return an encoder's files that are not in the folder of vectors."""
    folder = database.settings.vectors
    return [file for file in files_of(database, encoder_key, kind) if not (folder / file).exists()]


def member_ids(database: Database, collections: Sequence[str], kind: Kind) -> Ids:
    """Return the ids of the queries or codes of collections, each once, ascending."""
    with database.transaction() as tx, tx.table("wanted", {"collection": collections}):
        table = tx.arrow(f"{_MEMBERS[kind]} SEMI JOIN wanted USING (collection) ORDER BY item_id")
    return ids_of(table["item_id"])


def ids_of(ids: Sequence[str] | pa.ChunkedArray) -> Ids:
    """Return ids as one Arrow array."""
    if isinstance(ids, pa.ChunkedArray):
        return pa.concat_arrays(ids.cast(pa.string()).chunks or [pa.array([], pa.string())])
    return pa.array(ids, pa.string())


def load_texts(database: Database, kind: Kind, ids: Ids) -> list[str]:
    """Return the (n,) texts of queries or codes in the order of their ids."""
    wanted = pa.table({"item_id": ids, "position": np.arange(len(ids), dtype=np.int64)})
    with database.transaction() as tx, tx.stream("wanted", wanted):
        table = tx.arrow(
            f"SELECT text FROM ({_TEXTS[kind]}) JOIN wanted USING (item_id) "  # noqa: S608
            "ORDER BY position"
        )
    texts: list[str] = table["text"].to_pylist()
    return texts


class StoredVectors:
    """The vectors of n items by one encoder, read from their files on demand; few are kept open.

    Args:
        database: The store.
        encoder_key: Digest of the encoder's specification.
        kind: Queries or codes.
        ids: (n,) ids of items, of any collection; they may repeat.

    Attributes:
        files: The files, by their paths below the folder of vectors.
        file: (n,) position of each item's file among ``files``, of an item in several files of the
            first recorded; -1 where it has no vector.
        row: (n,) row in that file.

    Raises:
        StoreError: A file is damaged.
    """

    def __init__(self, database: Database, encoder_key: str, kind: Kind, ids: Ids) -> None:
        self._folder = database.settings.vectors
        self._ids = ids
        self._open: OrderedDict[int, VectorFile] = OrderedDict()
        recorded = files_of(database, encoder_key, kind)
        self.files = [file for file in recorded if (self._folder / file).exists()]
        stored = [VectorFile(self._folder / file).ids for file in self.files]
        self._items = [len(part) for part in stored]
        ends = np.cumsum(self._items, dtype=np.int64)
        chunks = [chunk for part in stored for chunk in part.chunks]
        found = pc.index_in(ids, value_set=pa.chunked_array(chunks, pa.string()))
        index = found.fill_null(-1).to_numpy(zero_copy_only=False)
        file = np.where(index < 0, -1, np.searchsorted(ends, index, side="right"))
        first = np.concatenate([[0], ends])[file]
        self.file: Positions = file.astype(np.int32)
        self.row: Positions = (index - np.where(index < 0, 0, first)).astype(np.int32)

    @property
    def is_missing(self) -> npt.NDArray[np.bool_]:
        """(n,) whether an item has no vector."""
        missing: npt.NDArray[np.bool_] = self.file < 0
        return missing

    def require_all(self, name: str) -> Self:
        """Return these vectors, none of which is missing.

        Args:
            name: What the items belong to.

        Raises:
            StoreError: An item has not been embedded.
        """
        if self.is_missing.any():
            first = self._ids[int(self.is_missing.argmax())].as_py()
            raise StoreError(
                f"{first} of {name} has no vector yet; run `cosqa collect` first, which "
                f"embeds the {np.count_nonzero(self.is_missing):,} texts that lack one"
            )
        return self

    def load(self, positions: Positions | slice = slice(None)) -> Vectors:
        """Return the (m, d) vectors of the items at these positions, or of all, not to be changed.

        Consecutive rows of one file are not copied.

        Raises:
            StoreError: A file is missing or damaged.
        """
        file, row = self.file[positions], self.row[positions]
        if not len(file):
            return np.empty((0, 0), np.float32)
        numbers = np.unique(file)
        first = self._rows(int(numbers[0]))
        dimension = first.shape[1]
        if len(numbers) == 1:
            is_slice = bool(np.all(np.diff(row) == 1))
            return first[row[0] : row[-1] + 1] if is_slice else first[row]
        loaded = np.empty((len(file), dimension), np.float32)
        for number in numbers.tolist():
            of_file = file == number
            loaded[of_file] = self._rows(number, dimension)[row[of_file]]
        return loaded

    def read_ahead(self, positions: Positions) -> None:
        """Ask the system for the files of these positions, to be read soon; return at once."""
        if not hasattr(os, "posix_fadvise"):
            return
        for number in np.unique(self.file[positions]).tolist():
            file = self._folder / self.files[number]
            if number not in self._open and file.exists():
                with file.open("rb") as stream:
                    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)

    def _rows(self, number: int, dimension: int | None = None) -> Vectors:
        """Return the vectors of a file, which must be as many as were located, of a dimension."""
        file = self._folder / self.files[number]
        if number not in self._open:
            self._open[number] = VectorFile(file)
            if len(self._open) > _OPEN_FILES:
                self._open.popitem(last=False)
        self._open.move_to_end(number)
        rows, items = self._open[number].rows, self._items[number]
        if len(rows) != items or dimension not in (None, rows.shape[1]):
            raise StoreError(
                f"{file} has {rows.shape[0]:,} vectors of {rows.shape[1]} dimensions instead of "
                f"{items:,} of {dimension or rows.shape[1]}: delete the file, and run "
                "`cosqa collect` again, which writes it anew"
            )
        return rows


def joint_blocks(
    by_encoder: Mapping[str, StoredVectors], wanted: Positions | None = None
) -> Iterator[Block]:
    """Yield ((m,) ascending positions, encoder → (m, d) vectors), each position once.

    A block is one or more whole files of the first encoder; where the other encoders' files hold
    the same items, each file is read once.

    Args:
        by_encoder: Encoder → the vectors of the same items.
        wanted: Ascending positions of the items that are asked for, none for all.

    Raises:
        StoreError: A file is missing or damaged.
    """
    lead = next(iter(by_encoder.values()), None)
    if lead is None:
        return
    plan = _plan(lead.file, wanted)
    for number, positions in enumerate(plan):
        for following in plan[number + 1 : number + 2]:
            for vectors in by_encoder.values():
                vectors.read_ahead(following)
        yield positions, {name: vectors.load(positions) for name, vectors in by_encoder.items()}


def _plan(files: Positions, wanted: Positions | None) -> list[Positions]:
    """Return the positions of each block, of files in the order of their first items."""
    positions = np.arange(len(files), dtype=np.int32) if wanted is None else wanted
    if not len(positions):
        return []
    numbers, first, file = np.unique(files[positions], return_index=True, return_inverse=True)
    turn = np.empty(len(numbers), np.int64)
    turn[np.argsort(first)] = np.arange(len(numbers))
    turn_of = turn[file]
    order = np.argsort(turn_of, kind="stable")
    # Each block ends after whole files, and has at least `LEAST_ROWS` where there are.
    borders, ends = [0], np.cumsum(np.bincount(turn_of)).tolist()
    for end in ends:
        if end - borders[-1] >= LEAST_ROWS or end == ends[-1]:
            borders.append(end)
    blocks = (np.sort(positions[order[start:stop]]) for start, stop in pairwise(borders))
    return [
        block[start : start + MOST_ROWS]
        for block in blocks
        for start in range(0, len(block), MOST_ROWS)
    ]
