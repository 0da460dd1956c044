"""Encoders by their specification, loaded when they are made."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import EncoderError
from tasks.encoders._specs import Encoder, EncoderSpec, TransformerSpec


def load_transformer(folder: Path | None, spec: EncoderSpec) -> Encoder:
    """Return the encoder of a transformer's specification, with its pinned checkpoint for None."""
    if not isinstance(spec, TransformerSpec):
        raise EncoderError(f"encoder {spec.name!r} is an API: it has no checkpoint to load")
    from tasks.encoders._transformer import TransformerEncoder  # noqa: PLC0415 - imports torch

    return TransformerEncoder(folder, spec)


@dataclass(frozen=True)
class SpecifiedEncoder:
    """A class of encoders with one specification; ``folder`` is None for the pinned checkpoint."""

    spec: EncoderSpec
    load: Callable[[Path | None, Any], Encoder] = load_transformer
    folder: Path | None = None

    def __call__(self) -> Encoder:
        """Return the encoder."""
        return self.load(self.folder, self.spec)
