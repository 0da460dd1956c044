"""Reading of vectors: of some items in a given order, or of all in blocks of whole files."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from infra.errors import StoreError
from infra.store.database import Database
from infra.store.vector_files import VectorFile, Vectors, read_ahead
from infra.store.vectors import Ids, Kind, Places, ids_of, locate

Positions = npt.NDArray[np.int32]
Block = tuple[Positions, dict[str, Vectors]]

LEAST_ROWS, MOST_ROWS = 8_192, 65_536  # of a block: files are put together or taken in parts
_OPEN_FILES = 4  # of one encoder at once: what is mapped counts as memory of the process


class StoredVectors:
    """The vectors of any items by one encoder, read from their files on demand.

    Args:
        database: The store.
        encoder_key: Digest of the encoder's specification.
        kind: Queries or codes.
        name: What the items belong to, for errors.
    """

    def __init__(self, database: Database, encoder_key: str, kind: Kind, name: str) -> None:
        self._database = database
        self._name = name
        self._key = encoder_key
        self._kind = kind

    def load(self, ids: Sequence[str]) -> Vectors:
        """Return the vectors of these items as one (n, d) array, in the order of ``ids``.

        Raises:
            StoreError: A file is missing or damaged, or an item has not been embedded.
        """
        return self.open(ids_of(ids)).load(np.arange(len(ids), dtype=np.int32))

    def open(self, ids: Ids) -> "LocatedVectors":
        """Return the vectors of these items, to be read by their positions among ``ids``.

        Raises:
            StoreError: A file is damaged, or an item has not been embedded.
        """
        places = locate(self._database, self._key, self._kind, ids)
        if places.is_missing.any():
            first = ids[int(places.is_missing.argmax())].as_py()
            raise StoreError(
                f"{first} of {self._name} has no vector yet; run `cosqa collect` first, which "
                f"embeds the {np.count_nonzero(places.is_missing):,} texts that lack one"
            )
        return LocatedVectors(self._database.settings.vectors, places)


class LocatedVectors:
    """The vectors of n items whose places are known; few files are kept open.

    Args:
        folder: The folder of vectors.
        places: The file and row of each item.
    """

    def __init__(self, folder: Path, places: Places) -> None:
        self._folder = folder
        self.places = places
        self._open: OrderedDict[int, VectorFile] = OrderedDict()

    def load(self, positions: Positions) -> Vectors:
        """Return the (m, d) vectors of the items at these positions; not to be written to.

        Consecutive rows of one file are not copied.

        Raises:
            StoreError: A file is missing or damaged.
        """
        if not len(positions):
            return np.empty((0, 0), np.float32)
        file, row = self.places.file[positions], self.places.row[positions]
        numbers = np.unique(file)
        first = self._rows(int(numbers[0]))
        dimension = first.shape[1]
        if len(numbers) == 1:
            is_slice = bool(np.all(np.diff(row) == 1))
            return first[row[0] : row[-1] + 1] if is_slice else first[row]
        loaded = np.empty((len(positions), dimension), np.float32)
        for number in numbers.tolist():
            of_file = file == number
            loaded[of_file] = self._rows(number, dimension)[row[of_file]]
        return loaded

    def read_ahead(self, positions: Positions) -> None:
        """Ask the system for the files of these positions, to be read soon."""
        for number in np.unique(self.places.file[positions]).tolist():
            if number not in self._open:
                read_ahead(self._folder / self.places.files[number])

    def _rows(self, number: int, dimension: int | None = None) -> Vectors:
        """Return the vectors of a file, which must be as many as were located, of a dimension."""
        if number not in self._open:
            self._open[number] = VectorFile(self._folder / self.places.files[number])
            if len(self._open) > _OPEN_FILES:
                self._open.popitem(last=False)
        self._open.move_to_end(number)
        rows, items = self._open[number].rows, self.places.items[number]
        if len(rows) != items or dimension not in (None, rows.shape[1]):
            raise StoreError(
                f"{self._folder / self.places.files[number]} has {rows.shape[0]:,} vectors of "
                f"{rows.shape[1]} dimensions instead of {items:,} of {dimension or rows.shape[1]}: "
                "delete the file, and run `cosqa collect` again, which writes it anew"
            )
        return rows


def joint_blocks(
    by_encoder: Mapping[str, LocatedVectors], wanted: Positions | None = None
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
    plan = _plan(lead.places, wanted)
    for number, positions in enumerate(plan):
        for following in plan[number + 1 : number + 2]:
            for vectors in by_encoder.values():
                vectors.read_ahead(following)
        yield positions, {name: vectors.load(positions) for name, vectors in by_encoder.items()}


def _plan(places: Places, wanted: Positions | None) -> list[Positions]:
    """Return the positions of each block, of files in the order of their first items."""
    positions = np.arange(len(places.file), dtype=np.int32) if wanted is None else wanted
    if not len(positions):
        return []
    numbers, first, file = np.unique(places.file[positions], return_index=True, return_inverse=True)
    turn = np.empty(len(numbers), np.int64)
    turn[np.argsort(first)] = np.arange(len(numbers))
    turn_of = turn[file]
    order = np.argsort(turn_of, kind="stable")
    ends = np.cumsum(np.bincount(turn_of))
    return [
        part
        for start, stop in pairwise(_borders(ends.tolist()))
        for part in _parts(np.sort(positions[order[start:stop]]))
    ]


def _borders(ends: Sequence[int]) -> list[int]:
    """Return where blocks end, each after whole files and at least `LEAST_ROWS` where there are."""
    borders = [0]
    for end in ends:
        if end - borders[-1] >= LEAST_ROWS or end == ends[-1]:
            borders.append(end)
    return borders


def _parts(positions: Positions) -> list[Positions]:
    return [positions[start : start + MOST_ROWS] for start in range(0, len(positions), MOST_ROWS)]
