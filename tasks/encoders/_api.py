"""Encoders behind an embedding API, by litellm's name; `tasks.runtime.api_embedder` asks them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from infra.errors import EncoderError, SettingsError
from tasks.encoders import Encoder, EncoderClass, EncoderSpec

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


@dataclass(frozen=True)
class ApiReference:
    """A class of encoders for an API.

    Attributes:
        spec: The specification.
        about: A sentence about it.
    """

    spec: ApiSpec
    about: str = ""

    def __call__(self, checkpoint: Path | None = None) -> Encoder:  # noqa: ARG002 - as of others
        """Refuse to load it.

        Raises:
            EncoderError: Always.
        """
        raise EncoderError(f"encoder {self.spec.name!r} is an API: it has no checkpoint to load")


def api_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for an API.

    Args:
        name: The encoder's name.
        target: litellm's name of the model.
        options: ``dimension`` to ask for shorter vectors, ``max_length`` in tokens, ``licence``.

    Raises:
        SettingsError: An option is unknown or has a bad value.
    """
    for key, value in options.items():
        if key not in _OPTIONS:
            raise SettingsError(
                f"encoder {name}: no option {key!r}; there are {', '.join(_OPTIONS)}"
            )
        if key != "licence" and not (value.isdecimal() and int(value)):
            raise SettingsError(f"encoder {name}: {key} = {value!r} is no whole number")
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
    return ApiReference(spec)
