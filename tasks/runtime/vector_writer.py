"""Writing of vectors: batches of any size become files of one size, whole or not at all.

A file has the vectors of consecutive ids, so that the files of several encoders hold the same
items. While some of its vectors are still being computed, those that have come are kept in smaller
files, its parts, which a later run takes over. So a run that is killed loses only the batches that
were being computed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow.compute as pc

from infra.errors import EncoderError, StoreError
from infra.identity import digest_of_set
from infra.store import Database, vectors
from infra.store.vectors import VectorFile, Vectors, write_vectors
from tasks.encoders import EncoderSpec, Kind, of_wrong_length

ReadTexts = Callable[[vectors.Ids], Sequence[str]]

_TEXTS_READ = 65_536  # held in memory at once
# A batch is what one call of an actor embeds, and what is computed again after its death.
_FEWEST_TEXTS, _MOST_TEXTS, _MOST_CHARACTERS = 64, 2_048, 1_000_000
_CHARACTERS_READ = 2_000  # of one text, about what 512 tokens take


@dataclass
class _OpenFile:
    """A file some of whose vectors are still being computed."""

    kind: Kind
    ids: list[str]
    left: int
    rows: Vectors | None = None
    parts: list[Path] = field(default_factory=list)


class VectorWriter:
    """Cuts texts into batches, and writes the batches' vectors into files.

    Args:
        database: The store.
        spec: The encoder's specification.
        shard_size: Number of vectors in a file.
        advance: Called with the number of vectors that have been computed or taken over, and with
            the number of texts of mean length that these amount to.
    """

    def __init__(
        self,
        database: Database,
        spec: EncoderSpec,
        shard_size: int,
        advance: Callable[[int, float], object] = lambda *_: None,
    ) -> None:
        self._database = database
        self._spec = spec
        self._folder = f"{spec.name}-{spec.key}"
        self._parts_folder = database.settings.vectors / self._folder / "parts"
        self._shard_size = shard_size
        self._advance = advance
        self._dimension = spec.dimension
        self._batches: dict[int, tuple[_OpenFile, list[int], float]] = {}
        self._given = 0
        self.computed = 0

    def batches(
        self, kind: Kind, ids: vectors.Ids, read: ReadTexts, total: int
    ) -> Iterator[tuple[Kind, Sequence[str]]]:
        """Yield batches of texts of similar length to embed; `add` takes their vectors.

        Args:
            kind: Queries or codes.
            ids: (n,) ids without a vector, ascending.
            read: Returns the texts of ids.
            total: Number of all texts that are being embedded.
        """
        parts = self._parts(kind)
        most = max(_FEWEST_TEXTS, min(_MOST_TEXTS, total // 16))
        step = self._shard_size * max(1, _TEXTS_READ // self._shard_size)
        for start in range(0, len(ids), step):
            group = ids[start : start + step]
            texts = read(group)
            length = [min(len(text), _CHARACTERS_READ) for text in texts]
            mean = max(1, sum(length)) / len(length)
            for first in range(0, len(group), self._shard_size):
                some = group[first : first + self._shard_size]
                file = _OpenFile(kind, some.to_pylist(), len(some))
                rows = self._take_over(file, some, parts)
                of_file = texts[first : first + self._shard_size]
                for batch in _cut(rows, [len(text) for text in of_file], most):
                    worth = sum(length[row + first] for row in batch) / mean
                    self._batches[self._given] = file, batch, worth
                    self._given += 1
                    yield kind, [of_file[row] for row in batch]

    def add(self, number: int, found: Vectors) -> None:
        """Take the vectors of a batch, by its place in the order of `batches`; write what is full.

        Raises:
            EncoderError: A vector has another length than its similarity needs, is not finite or of
                another dimension.
            DiskFullError: The disk is full; what was written before is kept.
        """
        file, rows, worth = self._batches.pop(number)
        ids = [file.ids[row] for row in rows]
        self._check(ids, found)
        self._fill(file, rows, found)
        self.computed += len(rows)
        if file.left:
            part = self._parts_folder / f"{file.kind}-{digest_of_set(ids)}.arrow"
            write_vectors(part, ids, found)
            file.parts.append(part)
        self._advance(len(rows), worth)

    def finish(self) -> None:
        """Remove parts whose vectors all stand in files."""
        for kind in get_args(Kind):
            for path, part in self._parts(kind):
                ids = vectors.ids_of(part.ids)
                places = vectors.locate(self._database, self._spec.key, kind, ids)
                if not places.is_missing.any():
                    path.unlink(missing_ok=True)

    def _parts(self, kind: Kind) -> list[tuple[Path, VectorFile]]:
        """Return the parts that can be used; another run may remove its own at any time."""
        found = []
        for path in sorted(self._parts_folder.glob(f"{kind}-*.arrow")):
            part = VectorFile(path)
            with suppress(StoreError, EncoderError):
                self._check(pc.unique(part.ids), part.rows)
                found.append((path, part))
        return found

    def _take_over(
        self, file: _OpenFile, ids: vectors.Ids, parts: Sequence[tuple[Path, VectorFile]]
    ) -> list[int]:
        """Fill in what an earlier run computed; return the rows that are left."""
        part_of, row_of = vectors.places_in([part.ids for _, part in parts], ids)
        for number in np.unique(part_of[part_of >= 0]).tolist():
            rows = np.flatnonzero(part_of == number)
            path, part = parts[number]
            if len(rows) == len(part.ids):
                file.parts.append(path)
            self._fill(file, rows.tolist(), part.rows[row_of[rows]])
            self._advance(len(rows), len(rows))
        left: list[int] = np.flatnonzero(part_of < 0).tolist()
        return left

    def _fill(self, file: _OpenFile, rows: Sequence[int], found: Vectors) -> None:
        """Take vectors into a file; write it if it is full."""
        if file.rows is None:
            file.rows = np.empty((len(file.ids), found.shape[1]), np.float32)
        file.rows[rows] = found
        file.left -= len(rows)
        if file.left:
            return
        name = f"{self._folder}/{file.kind}-{digest_of_set(file.ids)}.arrow"
        write_vectors(self._database.settings.vectors / name, file.ids, file.rows)
        written = [vectors.RecordedFile(name, len(file.rows))]
        vectors.record_files(self._database, self._spec.key, file.kind, written)
        for part in file.parts:
            part.unlink(missing_ok=True)

    def _check(self, ids: Sequence[str], found: Vectors) -> None:
        dimension = self._dimension or found.shape[1]
        if found.shape != (len(ids), dimension):
            raise EncoderError(
                f"encoder {self._spec.name!r} gave vectors of shape {found.shape} instead of "
                f"{(len(ids), dimension)} for {ids[0]} and {len(ids) - 1} other texts; see that "
                "its checkpoint is the one that its specification describes"
            )
        wrong = of_wrong_length(found, self._spec.similarity)
        if len(wrong):
            length = np.linalg.norm(found[wrong[0]])
            right = "1" if self._spec.similarity == "cosine" else "a positive one"
            raise EncoderError(
                f"encoder {self._spec.name!r} gave {ids[wrong[0]]} a vector of length {length:g} "
                f"instead of {right}, and so {len(wrong)} of {len(ids)} texts; none of them is "
                "stored: see that its checkpoint is intact, or embed with another number type"
            )
        self._dimension = dimension


def _cut(rows: Sequence[int], lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield batches of the rows, the longest texts first, so that the last batches are short."""
    batch: list[int] = []
    characters = 0
    for row in sorted(rows, key=lambda row: -lengths[row]):
        length = min(lengths[row], _CHARACTERS_READ)
        if len(batch) == most or (batch and characters + length > _MOST_CHARACTERS):
            yield sorted(batch)
            batch, characters = [], 0
        batch.append(row)
        characters += length
    if batch:
        yield sorted(batch)
