"""Writing of vectors: batches of any size become files of one size, whole or not at all.

A file has the vectors of consecutive ids, so that the files of several encoders hold the same
items. While some of its vectors are still being computed, those that have come are kept in smaller
files, its parts, which a later run takes over. So a run that is killed loses only the batches that
were being computed.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from infra.errors import EncoderError, StoreError
from infra.identity import digest_of_set
from infra.store import Database, vectors
from infra.store.vectors import VectorFile, Vectors, write_vectors
from tasks.encoders import EncoderSpec, Kind, Similarity, of_wrong_length

_KINDS: tuple[Kind, ...] = get_args(Kind)

Rows = npt.NDArray[np.int64]
ReadTexts = Callable[[vectors.Ids], Sequence[str]]

_TEXTS_READ = 65_536  # held in memory at once
_SECONDS_BETWEEN_COMMITS = 5.0
# A batch is what one call of an actor embeds, and what is computed again after its death.
_FEWEST_TEXTS, _MOST_TEXTS, _MOST_CHARACTERS = 64, 2_048, 1_000_000
_CHARACTERS_READ = 2_000  # of one text, about what 512 tokens take
_UNFINISHED_S = 3600.0  # a file is written in seconds


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
        self._folder = folder_of(spec)
        self._parts_folder = database.settings.vectors / self._folder / "parts"
        self._shard_size = shard_size
        self._advance = advance
        self._dimension = spec.dimension
        self._batches: dict[int, tuple[_OpenFile, Rows, float]] = {}
        self._given = 0
        self._written: list[tuple[Kind, vectors.RecordedFile]] = []
        self._committed = -_SECONDS_BETWEEN_COMMITS
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
                for batch in _cut(rows, [len(of_file[row]) for row in rows.tolist()], most):
                    worth = sum(length[row + first] for row in batch.tolist()) / mean
                    self._batches[self._given] = file, batch, worth
                    self._given += 1
                    yield kind, [of_file[row] for row in batch.tolist()]

    def add(self, number: int, found: Vectors) -> None:
        """Take the vectors of a batch, by its place in the order of `batches`; write what is full.

        Raises:
            EncoderError: A vector has another length than its similarity needs, is not finite or of
                another dimension.
            DiskFullError: The disk is full; what was written before is kept.
        """
        file, rows, worth = self._batches.pop(number)
        ids = [file.ids[row] for row in rows.tolist()]
        self._check(ids, found)
        self._fill(file, rows, found)
        self.computed += len(rows)
        if file.left:
            part = self._parts_folder / f"{file.kind}-{digest_of_set(ids)}.arrow"
            write_vectors(part, ids, found)
            file.parts.append(part)
        self._advance(len(rows), worth)

    def finish(self) -> None:
        """Record the last files, and remove parts whose vectors all stand in files."""
        self._commit()
        for kind in _KINDS:
            for path, part in self._parts(kind):
                ids = vectors.ids_of(part.ids)
                places = vectors.locate(self._database, self._spec.key, kind, ids)
                if not places.is_missing.any():
                    path.unlink(missing_ok=True)
        with suppress(OSError):  # it is not there, or not empty
            self._parts_folder.rmdir()

    def _parts(self, kind: Kind) -> list[tuple[Path, VectorFile]]:
        """Return the parts that can be read; another run may remove its own at any time."""
        found = []
        for path in sorted(self._parts_folder.glob(f"{kind}-*.arrow")):
            part = VectorFile(path)
            with suppress(StoreError):
                if not _fault_of(part, self._dimension, self._spec.similarity):
                    self._dimension = self._dimension or part.rows.shape[1]
                    found.append((path, part))
        return found

    def _take_over(
        self, file: _OpenFile, ids: vectors.Ids, parts: Sequence[tuple[Path, VectorFile]]
    ) -> Rows:
        """Fill in what an earlier run computed; return the rows that are left."""
        part_of, row_of = vectors.places_in([part.ids for _, part in parts], ids)
        for number in np.unique(part_of[part_of >= 0]).tolist():
            rows = np.flatnonzero(part_of == number)
            path, part = parts[number]
            if len(rows) == len(part.ids):
                file.parts.append(path)
            self._fill(file, rows, part.rows[row_of[rows]])
            self._advance(len(rows), len(rows))
        return np.flatnonzero(part_of < 0)

    def _fill(self, file: _OpenFile, rows: Rows, found: Vectors) -> None:
        if file.rows is None:
            file.rows = np.empty((len(file.ids), found.shape[1]), np.float32)
        file.rows[rows] = found
        file.left -= len(rows)
        if not file.left:
            name = f"{self._folder}/{file.kind}-{digest_of_set(file.ids)}.arrow"
            write_vectors(self._database.settings.vectors / name, file.ids, file.rows)
            recorded = vectors.RecordedFile(name, len(file.rows))
            self._written.append((file.kind, recorded))
            for part in file.parts:
                part.unlink(missing_ok=True)
            if time.monotonic() - self._committed >= _SECONDS_BETWEEN_COMMITS:
                self._commit()

    def _commit(self) -> None:
        for kind in _KINDS:
            files = [file for of_kind, file in self._written if of_kind == kind]
            if files:
                vectors.record_files(self._database, self._spec.key, kind, files)
        self._written.clear()
        self._committed = time.monotonic()

    def _check(self, ids: Sequence[str], found: Vectors) -> None:
        self._dimension = self._dimension or int(found.shape[1])
        wanted = (len(ids), self._dimension)
        if found.shape != wanted:
            raise EncoderError(
                f"encoder {self._spec.name!r} gave vectors of shape {found.shape} instead of "
                f"{wanted} for {ids[0]} and {len(ids) - 1} other texts; see that its checkpoint "
                "is the one that its specification describes"
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


def folder_of(spec: EncoderSpec) -> str:
    """Return the name of an encoder's folder among the vectors."""
    return f"{spec.name}-{spec.key}"


def adopt_files(database: Database, spec: EncoderSpec, kind: Kind) -> tuple[int, list[str]]:
    """Record files that a killed run wrote and did not record; return how many, and what is wrong.

    Args:
        database: The store.
        spec: The encoder's specification.
        kind: Queries or codes.
    """
    known = {recorded.file for recorded in vectors.files_of(database, spec.key, kind)}
    adopted, problems = [], []
    folder = database.settings.vectors / folder_of(spec)
    _remove_unfinished(folder)
    for path in sorted(folder.glob(f"{kind}-*")):
        name = f"{folder_of(spec)}/{path.name}"
        if name in known:
            continue
        try:
            opened = VectorFile(path)
            fault = _fault_of(opened, spec.dimension, spec.similarity)
        except StoreError as error:
            problems.append(str(error))
            continue
        if fault:
            problems.append(f"{path} {fault}; delete it")
        else:
            adopted.append(vectors.RecordedFile(name, len(opened.rows)))
    if adopted:
        vectors.record_files(database, spec.key, kind, adopted)
    return len(adopted), problems


def _fault_of(file: VectorFile, dimension: int, similarity: Similarity) -> str:
    """Return why a file that the store does not know cannot be used, "" where it can.

    Args:
        file: The file.
        dimension: Length of the encoder's vectors; 0 where it is not known.
        similarity: By which they are compared.

    Raises:
        StoreError: It is damaged.
    """
    items, length = file.rows.shape
    if len(pc.unique(file.ids)) != items:
        return f"has {items:,} vectors and other ids"
    if dimension not in (0, length):
        return f"has vectors of {length} dimensions instead of {dimension}"
    if wrong := len(of_wrong_length(file.rows, similarity)):
        return f"has {wrong:,} vectors that are " + (
            "not of length 1" if similarity == "cosine" else "zero or not finite"
        )
    return ""


def _remove_unfinished(folder: Path) -> None:
    """Remove what a killed process had half written, once it is surely no longer being written."""
    for path in folder.rglob(".*.partial"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _UNFINISHED_S:
                path.unlink()


def _cut(rows: Rows, lengths: Sequence[int], most: int) -> list[Rows]:
    """Return batches of the rows, the longest texts first, so that the last batches are short."""
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    work = np.minimum(np.asarray(lengths, np.int64)[order], _CHARACTERS_READ)
    batches, first, characters = [], 0, 0
    for position, size in enumerate(work.tolist()):
        if position - first >= most or (position > first and characters + size > _MOST_CHARACTERS):
            batches.append(np.sort(rows[order[first:position]]))
            first, characters = position, 0
        characters += size
    if first < len(rows):
        batches.append(np.sort(rows[order[first:]]))
    return batches
