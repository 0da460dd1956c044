"""Writing of vectors: batches of any size become files of one size, whole or not at all.

A file has the vectors of consecutive ids, so that the files of several encoders hold the same
items. A run that is killed loses the files that were not full, which the next one computes again.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from infra.errors import EncoderError
from infra.identity import digest_of_set
from infra.machine import processor, usable_cores
from infra.store import Database, vectors
from infra.store.vectors import Vectors, write_vectors
from infra.subsets import cut_by_length
from infra.summaries import NO_EFFORT, EncodingEffort
from tasks.encoders import Encoder, EncoderSpec, Kind
from tasks.reports.text import counted

ReadTexts = Callable[[vectors.Ids], Sequence[str]]

_TEXTS_READ = 65_536  # held in memory at once
# A batch is what one call of an actor embeds, and what is computed again after its death.
_FEWEST_TEXTS, _MOST_TEXTS, _MOST_CHARACTERS = 64, 2_048, 1_000_000
_UNIT_TOLERANCE = 1e-2  # by which the length of a vector for a cosine may differ from 1
_SHOWN_CHARACTERS = 60  # of a text, in a message
_CHARACTERS_READ = 2_000  # of one text, about what 512 tokens take


class EmbeddedBatch(NamedTuple):
    """A batch's number, its vectors, and what it took to compute them."""

    number: int
    rows: Vectors
    effort: EncodingEffort


def encode(
    encoder: Encoder, texts: Sequence[str], kind: Kind, batch_size: int
) -> tuple[Vectors, EncodingEffort]:
    """Return (n, d) vectors, and what it took this process to compute them."""
    started = time.monotonic()
    rows = encoder.encode(texts, kind, batch_size=batch_size)
    seconds = time.monotonic() - started
    torch: Any = sys.modules.get("torch")
    machine = (
        torch.cuda.get_device_name()
        if torch and torch.cuda.is_available()
        else f"{processor()}, {usable_cores()} cores"
    )
    return rows, EncodingEffort(texts=len(texts), seconds=seconds, machines=frozenset({machine}))


@dataclass
class _OpenFile:
    """A file some of whose vectors are still being computed."""

    kind: Kind
    ids: list[str]
    left: int
    rows: Vectors | None = None
    effort: EncodingEffort = NO_EFFORT


class VectorWriter:
    """Cuts texts into batches, and writes the batches' vectors into files.

    Args:
        database: The store.
        spec: The encoder's specification.
        shard_size: Number of vectors in a file.
        advance: Called with the number of vectors that have been computed.
    """

    def __init__(
        self,
        database: Database,
        spec: EncoderSpec,
        shard_size: int,
        advance: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._database = database
        self._spec = spec
        self._folder = f"{spec.name}-{spec.key}"
        self._shard_size = shard_size
        self._advance = advance
        self._dimension = spec.dimension
        self._batches: dict[int, tuple[_OpenFile, list[int], Sequence[str]]] = {}
        self._given = 0

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
        most = max(_FEWEST_TEXTS, min(_MOST_TEXTS, total // 16))
        step = self._shard_size * max(1, _TEXTS_READ // self._shard_size)
        for start in range(0, len(ids), step):
            group = ids[start : start + step]
            texts = read(group)
            for first in range(0, len(group), self._shard_size):
                some = group[first : first + self._shard_size]
                file = _OpenFile(kind, some.to_pylist(), len(some))
                of_file = texts[first : first + self._shard_size]
                lengths = [min(len(text), _CHARACTERS_READ) for text in of_file]
                for batch in cut_by_length(lengths, most, _MOST_CHARACTERS):
                    of_batch = [of_file[row] for row in batch]
                    self._batches[self._given] = file, batch, of_batch
                    self._given += 1
                    yield kind, of_batch

    def add(self, number: int, found: Vectors, effort: EncodingEffort = NO_EFFORT) -> None:
        """Take the vectors of a batch, by its number in `batches`; write each file that is full."""
        file, rows, texts = self._batches.pop(number)
        with np.errstate(over="ignore"):  # what is too large as it is stored is infinite
            found = np.asarray(found, np.float32)
            self._check([file.ids[row] for row in rows], texts, found)
        if file.rows is None:
            file.rows = np.empty((len(file.ids), found.shape[1]), np.float32)
        file.rows[rows] = found
        file.effort += effort
        file.left -= len(rows)
        if not file.left:
            name = f"{self._folder}/{file.kind}-{digest_of_set(file.ids)}.arrow"
            write_vectors(self._database.settings.vectors / name, file.ids, file.rows, file.effort)
            written = {name: len(file.rows)}
            vectors.record_files(self._database, self._spec.key, file.kind, written)
        self._advance(len(rows))

    def _check(self, ids: Sequence[str], texts: Sequence[str], found: Vectors) -> None:
        dimension = self._dimension or found.shape[1]
        if found.shape != (len(ids), dimension):
            raise EncoderError(
                f"encoder {self._spec.name!r} gave vectors of shape {found.shape} instead of "
                f"{(len(ids), dimension)} for {ids[0]} and {counted(len(ids) - 1, 'other texts')}; "
                "see that its checkpoint is the one that its specification describes"
            )
        lengths = np.linalg.norm(found, axis=1)
        if self._spec.similarity == "cosine":
            right, is_right = "1", np.abs(lengths - 1) <= _UNIT_TOLERANCE
        else:
            right, is_right = "a positive one", np.isfinite(lengths) & (lengths > 0)
        wrong = np.flatnonzero(~is_right)  # NaN among them
        if len(wrong):
            first = wrong[0]
            raise EncoderError(
                f"encoder {self._spec.name!r} gave {ids[first]}, "
                f"{texts[first][:_SHOWN_CHARACTERS]!r}, a vector of length {lengths[first]:g} "
                f"instead of {right}, and so {len(wrong)} of {len(ids)} texts; none of them is "
                "stored: see that its checkpoint is intact, or embed with another number type"
            )
        self._dimension = dimension
