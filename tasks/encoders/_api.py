"""Encoders behind an embedding API, by litellm's name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from infra.errors import EncoderError, SettingsError
from tasks.encoders import Encoder, EncoderClass, EncoderSpec, Kind, Vectors

Ask = Callable[[Sequence[str]], Vectors]

_OPTIONS = ("dimension", "max_length", "licence")
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-ada-002": 1536}
_MAX_LENGTH = 8191  # OpenAI's


class ApiSpec(EncoderSpec):
    """The specification of an embedding API.

    Attributes:
        max_length: Tokens; longer texts are cut before they are sent.
        shortened: Whether the API is asked for vectors of ``dimension`` numbers.
    """

    is_api: ClassVar[bool] = True

    max_length: int
    shortened: bool = False

    later_fields: ClassVar[frozenset[str]] = EncoderSpec.later_fields | {"shortened"}


class ApiEncoder:
    """Embeds texts by an API; who sends the requests is given to it.

    Args:
        checkpoint: Of no use: an API has none.
        spec: Its specification.
        ask: Sends texts and returns (n, dimension) vectors in their order.
    """

    def __init__(self, checkpoint: Path | None, spec: ApiSpec, ask: Ask | None = None) -> None:
        if checkpoint is not None:
            raise EncoderError(f"encoder {spec.name!r} is an API and has no checkpoint")
        self.spec = spec
        self._ask = ask

    def encode(self, texts: Sequence[str], kind: Kind, batch_size: int) -> Vectors:  # noqa: ARG002 - APIs treat both alike
        """Return (n, dimension) vectors of unit length, in the order of ``texts``.

        Raises:
            EncoderError: A vector has another length than stated, or is zero or not finite.
            LanguageModelError: The API gave no answer, or the budget is spent.
        """
        if not texts:
            return np.empty((0, self.spec.dimension), np.float32)
        if self._ask is None:
            raise EncoderError(f"encoder {self.spec.name!r} is an API, but nobody is to ask it")
        vectors = np.asarray(self._ask(texts), np.float32)
        if self.spec.dimension and vectors.shape[1] != self.spec.dimension:
            raise EncoderError(
                f"{self.spec.model} gave vectors of {vectors.shape[1]} dimensions instead of "
                f"{self.spec.dimension}"
            )
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths) & (lengths > 0)):
            raise EncoderError(f"{self.spec.model} gave a vector that is zero or not finite")
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit


@dataclass(frozen=True)
class ApiReference:
    """A class of encoders for an API.

    Attributes:
        spec: The specification.
        about: A sentence about it.
    """

    spec: ApiSpec
    about: str = ""

    def __call__(self, checkpoint: Path | None = None, ask: Ask | None = None) -> Encoder:
        """Return the encoder."""
        return ApiEncoder(checkpoint, self.spec, ask)


def api_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for an API.

    Args:
        name: The encoder's name.
        target: litellm's name of the model.
        options: ``dimension`` to ask for shorter vectors, ``max_length`` in tokens, ``licence``.

    Raises:
        SettingsError: An option is unknown or has a bad value.
    """
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise SettingsError(
            f"encoder {name}: no option {unknown[0]!r}; there are {', '.join(_OPTIONS)}"
        )
    numbers = {key: value for key, value in options.items() if key != "licence"}
    wrong = next(
        (key for key, value in numbers.items() if not value.isdigit() or not int(value)), ""
    )
    if wrong:
        raise SettingsError(f"encoder {name}: {wrong} = {options[wrong]!r} is no whole number")
    spec = ApiSpec(
        name=name,
        model=target,
        revision="api",
        licence=options.get("licence", "the provider's terms"),
        source="the provider's documentation",
        dimension=int(options.get("dimension", _DIMENSIONS.get(target.rpartition("/")[2], 0))),
        max_length=int(options.get("max_length", _MAX_LENGTH)),
        shortened="dimension" in options,
    )
    return ApiReference(spec=spec)
