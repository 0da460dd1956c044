"""Encoders: models that turn texts into unit vectors, one file each.

To add one, write a file with a class that has ``spec`` and ``encode`` (for a Hugging Face
checkpoint a subclass of `tasks.encoders._transformer.TransformerEncoder`) and decorate it with
``@encoders.register("name")``, the name being that of the file and of the ``spec``. ``spec`` is a
class attribute, so that it can be read without loading the model; the constructor takes
``checkpoint=None``. ``minilm.py`` is the shortest example.
`tests/tasks/encoders/test_conformance.py` tests it from then on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from infra.identity import digest
from infra.records import Record
from infra.registry import Registry

Kind = Literal["query", "code"]
Vectors = npt.NDArray[np.float32]


class EncoderSpec(Record):
    """What identifies an encoder's vectors, and under which terms the model comes.

    An encoder whose vectors depend on more adds it in a subclass, and so to the key.

    Attributes:
        name: The name in the registry.
        model: Where the checkpoint comes from: a hub's id or a package.
        revision: The pinned commit or version.
        licence: SPDX identifier.
        source: Paper and card that say how the model is to be used.
        dimension: Length of a vector.
    """

    name: str
    model: str
    revision: str
    licence: str
    source: str
    dimension: int

    @property
    def key(self) -> str:
        """Identity of the vectors: another specification gives other vectors."""
        return digest(self.model_dump_json(exclude={"licence", "source"}))


class Encoder(Protocol):
    """A model that embeds texts."""

    @property
    def spec(self) -> EncoderSpec:
        """Its specification."""
        ...

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return (n, dimension) vectors of unit length, in the order of ``texts``.

        A vector does not depend on the other texts, but for rounding.
        """
        ...


class EncoderClass(Protocol):
    """A class of encoders, which carries the specification of its instances."""

    @property
    def spec(self) -> EncoderSpec:
        """The specification, had without loading a checkpoint."""
        ...

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return an encoder with the pinned checkpoint, or one like it from a folder.

        Raises:
            EncoderError: The checkpoint cannot be loaded.
        """
        ...


encoders: Registry[EncoderClass] = Registry("encoder", "tasks.encoders")
