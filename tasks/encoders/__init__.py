"""Encoders: models that turn texts into vectors.

To add a Hugging Face checkpoint, write a table into ``specs.toml``. To add a model of another kind,
write a file with a class that has ``spec`` and ``encode`` and decorate it with
``@encoders.register("name")``, the name being that of the file and of the ``spec``. ``spec`` is a
class attribute, so that it can be read without loading the model; the constructor takes
``checkpoint=None``. `tests/tasks/encoders/test_conformance.py` tests both from then on.

A model that is in neither is named by a reference, which `tasks.encoders._reference` reads: a
folder (``checkpoint:``), an id of the Hugging Face hub (``hub:``), an embedding API (``api:``).

Vectors are compared by their cosine, and are of unit length, unless ``spec`` says ``product``: then
they are as the model gives them, and compared by their inner products.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from infra.errors import UnknownNameError
from infra.identity import mark
from infra.records import Record
from infra.registry import Registry

Kind = Literal["query", "code"]
Vectors = npt.NDArray[np.float32]

Similarity = Literal["cosine", "product"]
Precision = Literal["float32", "bfloat16"]

REFERENCES = ("checkpoint", "hub", "api")  # what a reference begins with, before a colon
SYNTAX = (
    "checkpoint:NAME=FOLDER for a fine-tuned model in a folder, hub:ORG/MODEL@COMMIT for one of "
    "the Hugging Face hub, api:PROVIDER/MODEL for an embedding API"
)

_OFF_UNIT = 1e-2  # how far from 1 the length of a vector may lie
_TWO_CODEBERTS = (
    "unknown encoder 'codebert': it is codebert-search, fine-tuned for code search as the papers "
    "use it, or codebert-base, which is not fine-tuned"
)
NOT_PUBLISHED = "not published"  # revision of an encoder without a checkpoint to be had
_BASES = {"codebert-search": "codebert-base"}  # of such encoders; else roberta-base


class EncoderSpec(Record):
    """The identity of an encoder's vectors, and the terms under which the model comes.

    Attributes:
        name: The name in the registry.
        model: Where the checkpoint comes from: a hub's id or a package.
        revision: The pinned commit or version.
        licence: SPDX identifier.
        source: Paper and card that say how the model is to be used.
        dimension: Length of a vector; 0 where only the API knows it.
        similarity: How a query and a code are compared: ``cosine`` of vectors of unit length,
            or ``product``, the inner product of vectors as the model gives them.
    """

    name: str
    model: str
    revision: str
    licence: str
    source: str
    dimension: int
    similarity: Similarity = "cosine"

    is_api: ClassVar[bool] = False
    unkeyed: ClassVar[frozenset[str]] = frozenset({"licence", "source"})

    @property
    def key(self) -> str:
        """Identity of the vectors: another specification gives other vectors."""
        # Without defaults, so that a later field changes no key of what is stored.
        return mark(self.model_dump_json(exclude=set(self.unkeyed), exclude_defaults=True))


class Encoder(Protocol):
    """A model that embeds texts."""

    @property
    def spec(self) -> EncoderSpec:
        """Its specification."""
        ...

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:
        """Return (n, dimension) vectors in the order of ``texts``, of unit length for a cosine.

        A vector does not depend on the other texts, but for rounding.

        Args:
            texts: Best thousands at once, so that texts of similar length are computed together.
            kind: Whether they are queries or codes.
            batch_size: The most texts in one forward pass; 0 lets the encoder choose.
        """
        ...


class EncoderClass(Protocol):
    """A class of encoders, or a factory, which carries the specification of its instances."""

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


def not_published(name: str) -> str:
    """Return that an encoder has no published checkpoint, and by which commands one is made."""
    base = _BASES.get(name, "roberta-base")
    return (
        f"encoder {name} has no published checkpoint: give --checkpoint {name}=FOLDER; to make "
        f"one: cosqa train --data python/final/jsonl --base {base} --recipe codexglue "
        f"--name my-{base}, then --checkpoint {name}=cosqa-benchmarks/encoders/my-{base}"
    )


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Return the fields of the published encoders' specifications, by name."""
    return tomllib.loads(Path(__file__).with_name("specs.toml").read_text("utf-8"))


class EncoderRegistry(Registry[EncoderClass]):
    """Encoders by name or by reference."""

    _pinned: ClassVar[dict[str, EncoderClass]] = {}  # those that folders stand in for

    def get(self, name: str) -> EncoderClass:
        """Return the encoder of that name or reference.

        Raises:
            UnknownNameError: There is no such encoder.
            SettingsError: A reference has an unknown option, or a name that is taken.
            EncoderError: The folder or the hub's files that a reference names cannot be read.
        """
        if ":" not in name:
            try:
                return self._of_table_or_file(name)
            except UnknownNameError as error:
                problem = _TWO_CODEBERTS if name == "codebert" else str(error)
                raise UnknownNameError(f"{problem}; or {SYNTAX}") from None
        # Late, since those modules import this one.
        found: EncoderClass = import_module("tasks.encoders._reference").referenced_encoder(name)
        return found

    def _of_table_or_file(self, name: str) -> EncoderClass:
        if name in _table() and name not in self._entries:
            fields = {"name": name, **_table()[name]}
            self._entries[name] = import_module("tasks.encoders._reference").published(fields)
        return super().get(name)

    def adopt(self, name: str) -> str:
        """Return the name of an encoder, under which a reference is found from then on.

        The name is what files and columns are called by. What an earlier reference of the same name
        stood for is replaced.
        """
        found = self.get(name)
        if ":" in name:
            self._entries[found.spec.name] = found
        return found.spec.name

    def substitute(self, folders: Mapping[str, Path]) -> None:
        """Let folders' checkpoints stand in for registered encoders, and no others from then on.

        They do so, too, for references to the same checkpoint with ``like=`` such an encoder.

        Args:
            folders: Name of an encoder → a folder with a checkpoint like its own.

        Raises:
            UnknownNameError: There is no such encoder.
            EncoderError: A folder is no checkpoint.
        """
        self._entries |= self._pinned
        self._pinned.clear()
        for name, folder in folders.items():
            pinned = self._of_table_or_file(name)
            make = import_module("tasks.encoders._checkpoint").checkpoint_encoder
            self._entries[name] = make(name, str(folder), {"like": name})
            self._pinned[name] = pinned

    def stand_in(self, name: str, model: str, revision: str) -> Path | None:
        """Return the folder that stands in for a registered encoder of this model's revision."""
        pinned = self._pinned.get(name)
        if pinned is None or (pinned.spec.model, pinned.spec.revision) != (model, revision):
            return None
        return Path(self._entries[name].spec.source)

    def registered(self) -> list[str]:
        """Return the names in the table and those of files, without those of references."""
        return sorted({*_table(), *(name.replace("_", "-") for name in self._modules())})

    def names(self) -> list[str]:
        """Return all names in alphabetical order."""
        return sorted({*super().names(), *_table()})

    def is_pinned(self, name: str) -> bool:
        """Return whether a name alone says, in any process, which checkpoint is meant."""
        return name in self.registered() and name not in self._pinned

    def has(self, name: str) -> bool:
        """Return whether a name or a reference is that of an encoder."""
        is_reference = name.partition(":")[0] in REFERENCES and ":" in name
        return is_reference or name in self.names()


def of_wrong_length(vectors: Vectors, similarity: Similarity) -> npt.NDArray[np.int64]:
    """Return the rows whose length is not 1, for products those of no length; NaN among them."""
    lengths = np.linalg.norm(vectors, axis=1)
    if similarity == "cosine":
        return np.flatnonzero(~(np.abs(lengths - 1) <= _OFF_UNIT))
    return np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))


encoders = EncoderRegistry("encoder", "tasks.encoders")
