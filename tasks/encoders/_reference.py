"""References to encoders without a name of their own: ``SCHEME:[NAME=]TARGET[?KEY=VALUE&…]``.

- ``checkpoint:codebert=/models/codebert?like=codebert-search``: a folder, with the specification of
  a published encoder; ``checkpoint:FOLDER`` alone for a folder of sentence-transformers.
- ``api:openai/text-embedding-3-small``: an embedding API, by litellm's name.

Without NAME the last part of TARGET is the name. Values may be percent-encoded.
"""

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from urllib.parse import unquote

from infra.errors import SettingsError, UnknownNameError
from infra.registry import unknown_name
from tasks.encoders._checkpoint import checkpoint_encoder
from tasks.encoders._specs import ApiSpec, EncoderClass, SpecifiedEncoder, validated

SYNTAX = (
    "checkpoint:NAME=FOLDER for a model in a folder (`hf download` fetches one of the Hugging Face "
    "hub), api:PROVIDER/MODEL for an embedding API"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_API_OPTIONS = ("dimension", "max_length")
_MAX_LENGTH = 8191  # OpenAI's
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-ada-002": 1536}


def api_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for an API.

    Args:
        name: The encoder's name.
        target: litellm's name of the model.
        options: ``dimension`` to ask for shorter vectors, ``max_length`` in tokens.
    """
    identity = {
        "name": name,
        "model": target,
        "revision": "api",
        "licence": "the provider's terms",
        "source": "the provider's documentation",
        "shortened": "dimension" in options,
    }
    dimension = _DIMENSIONS.get(target.rpartition("/")[2], 0)
    usual = {"dimension": dimension, "max_length": _MAX_LENGTH}
    return SpecifiedEncoder(validated(ApiSpec, identity, usual, options, _API_OPTIONS))


SCHEMES: Mapping[str, Callable[[str, str, Mapping[str, str]], EncoderClass]] = MappingProxyType(
    {"checkpoint": checkpoint_encoder, "api": api_encoder}
)


def referenced_encoder(reference: str, registered: Collection[str]) -> EncoderClass:
    """Return the encoder of a reference.

    Args:
        reference: The reference.
        registered: The names that it may not take.
    """
    scheme, _, rest = reference.partition(":")
    place, _, query = rest.partition("?")
    name, equals, target = place.partition("=")
    if not equals:
        target = place
        name = re.split(r"[/\\]", target.rstrip("/\\"))[-1]
    if scheme not in SCHEMES or not target:
        known = [*registered, *(f"{scheme}:…" for scheme in SCHEMES)]
        raise UnknownNameError(f"{unknown_name('encoder', reference, known)}; write {SYNTAX}")
    problem = ""
    if not _NAME.fullmatch(name):
        problem = f"{name!r} is no name for files and columns (letters, digits, . _ -)"
    elif name.lower() in map(str.lower, registered):
        problem = f"the name {name!r} is that of a registered encoder"
    if problem:
        example = f"{scheme}:my-encoder={target}" + (f"?{query}" if query else "")
        raise SettingsError(f"encoder {reference}: {problem}; give one in front: {example}")
    options: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        key, equals, value = pair.partition("=")
        if not equals or key in options:
            problem = "is given twice" if equals else "has no value"
            raise SettingsError(f"encoder {reference}: option {key} {problem}; write {key}=VALUE")
        options[key] = unquote(value)
    return SCHEMES[scheme](name, target, options)
