"""Encoders that are computed in another dtype than float32, each with an identity of its own."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from infra.errors import SettingsError
from tasks.encoders import Dtype, Encoder, EncoderClass
from tasks.encoders._transformer import TransformerSpec


@dataclass(frozen=True)
class DtypeEncoder:
    """An encoder like a class of encoders, computed in another dtype.

    Attributes:
        spec: The other one's specification, with the dtype in the name and the key.
        base: The class.
    """

    spec: TransformerSpec
    base: Any

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return the encoder.

        Raises:
            EncoderError: The checkpoint cannot be loaded, or not computed in the dtype here.
        """
        encoder: Encoder = self.base(checkpoint, self.spec)
        return encoder


def encoder_in_dtype(base: EncoderClass, dtype: Dtype) -> EncoderClass:
    """Return an encoder computed in a dtype; in float32 it is the encoder itself.

    Raises:
        SettingsError: The encoder is no transformer.
    """
    if dtype == "float32":
        return base
    if not isinstance(base.spec, TransformerSpec):
        raise SettingsError(
            f"encoder {base.spec.name} cannot be computed in {dtype}: only transformers can; leave "
            f"@{dtype} out"
        )
    name = f"{base.spec.name}@{dtype}"
    spec = base.spec.model_copy(update={"name": name, "dtype": dtype})
    if isinstance(base, type):
        return DtypeEncoder(spec=spec, base=base)
    in_dtype: EncoderClass = replace(cast("Any", base), spec=spec)  # one by reference
    return in_dtype
