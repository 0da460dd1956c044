"""Encoders: models that turn texts into vectors.

To add a Hugging Face checkpoint, write a table into ``specs.toml``. To add a model of another kind,
write a file with a class that has ``spec`` and ``encode`` and decorate it with
``@encoders.register("name")``, the name being that of the file and of the ``spec``, a class
attribute, so that it can be read without loading the model.
`tests/tasks/encoders/test_conformance.py` tests both from then on.

A reference names any other model: a folder (``checkpoint:``) or an embedding API (``api:``).
`tasks.encoders._reference` reads it.

Vectors are compared by their cosine, and are of unit length, unless ``spec`` says ``product``: then
they are as the model gives them, and compared by their inner products.
"""

from collections.abc import Mapping
from pathlib import Path

from infra.registry import Registry
from tasks.encoders._reference import (
    SCHEMES,
    SYNTAX,
    TRAINED,
    SpecifiedEncoder,
    check_checkpoint,
    checkpoint_encoder,
    content_digest,
    folder_readers,
    load_transformer,
    referenced_encoder,
)
from tasks.encoders._specs import (
    NOT_PUBLISHED,
    ApiSpec,
    Encoder,
    EncoderClass,
    EncoderSpec,
    Kind,
    Precision,
    Similarity,
    TransformerSpec,
    Vectors,
    not_published,
    published_specs,
)

__all__ = [
    "NOT_PUBLISHED",
    "SYNTAX",
    "TRAINED",
    "ApiSpec",
    "Encoder",
    "EncoderClass",
    "EncoderSpec",
    "Kind",
    "Precision",
    "Similarity",
    "SpecifiedEncoder",
    "TransformerSpec",
    "Vectors",
    "check_checkpoint",
    "content_digest",
    "encoders",
    "folder_readers",
    "load_transformer",
    "not_published",
]


class EncoderRegistry(Registry[EncoderClass]):
    """Encoders by name or by reference."""

    def __init__(self) -> None:
        super().__init__("encoder", "tasks.encoders")
        for name, spec in published_specs().items():
            self._entries[name] = SpecifiedEncoder(spec)
        self._stand_ins: dict[str, EncoderClass] = {}

    def get(self, name: str) -> EncoderClass:
        """Return the encoder of that name or reference."""
        if ":" in name:
            return referenced_encoder(name, self.registered())
        return self._stand_ins.get(name) or super().get(name)

    def adopt(self, name: str) -> str:
        """Return the name of an encoder; a reference is found by it until another one takes it."""
        found = self.get(name)
        if ":" in name:
            self._entries[found.spec.name] = found
        return found.spec.name

    def substitute(self, folders: Mapping[str, Path]) -> None:
        """Let checkpoints in folders stand in for registered encoders by name, and no others."""
        self._stand_ins = {
            name: checkpoint_encoder(name, str(folder), {"like": name})
            for name, folder in folders.items()
        }

    def registered(self) -> list[str]:
        """Return the names in the table and those of files, without those of references."""
        files = (name.replace("_", "-") for name in self._modules())
        return sorted({*published_specs(), *files})

    def has(self, name: str) -> bool:
        """Return True if a name or a reference is that of an encoder."""
        scheme, colon, _ = name.partition(":")
        return scheme in SCHEMES if colon else name in self.names()


encoders = EncoderRegistry()
