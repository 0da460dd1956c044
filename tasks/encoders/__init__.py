"""Encoders: texts in, unit vectors out.

To add one, write a file with a subclass of `tasks.encoders._transformer.TransformerEncoder` (or
anything that has ``spec`` and ``encode``) and decorate it with ``@encoders.register("name")``.
`tests/tasks/encoders` judges it from then on. The class carries its specification, so that its
identity can be had without loading a checkpoint.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from infra.identity import digest
from infra.records import Record
from infra.registry import Registry

Kind = Literal["query", "code"]
Vectors = npt.NDArray[np.float32]


class EncoderSpec(Record):
    """Everything that a vector depends on, and under which terms the model comes.

    Attributes:
        name: The name in the registry.
        model: Where the checkpoint comes from: a hub's id or a package.
        revision: The pinned commit or version.
        licence: SPDX identifier.
        source: Paper and card that say how the model is to be used.
        dimension: Length of a vector.
        max_length: Tokens, special ones included; longer texts are cut.
        before: Special tokens before the text.
        after: Special tokens after the text.
        pooling: ``mean`` over all tokens, or the ``first`` token.
    """

    name: str
    model: str
    revision: str
    licence: str
    source: str
    dimension: int
    max_length: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    pooling: Literal["mean", "first"]

    @property
    def key(self) -> str:
        """Identity of the vectors: another specification gives other vectors."""
        return digest(self.model_dump_json(exclude={"licence", "source"}))


class Encoder(Protocol):
    """A model that embeds texts; made without arguments it loads the pinned checkpoint."""

    spec: ClassVar[EncoderSpec]

    def __init__(self, checkpoint: Path | None = None) -> None:
        """Load the pinned checkpoint, or one of the same architecture from a folder."""

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return (n, dimension) vectors of unit length, in the order of ``texts``.

        A vector does not depend on the other texts, but for rounding.
        """
        ...


encoders: Registry[type[Encoder]] = Registry("encoder", "tasks.encoders")
