"""References to encoders without a file of their own: ``SCHEME:[NAME=]TARGET[?KEY=VALUE&…]``.

- ``checkpoint:codebert=/models/codebert?like=codebert-search``: a folder, with the specification of
  a registered encoder; ``checkpoint:FOLDER`` alone for a folder of sentence-transformers.
- ``hub:intfloat/e5-small-v2@COMMIT``: a model of the Hugging Face hub. Without a commit the one
  that the hub's cache knows is taken, else the newest; it is part of the vectors' key.
- ``api:openai/text-embedding-3-small``: an embedding API, by litellm's name.

Without NAME the last part of TARGET is the name. Values may be percent-encoded.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import unquote

from infra.errors import SettingsError, UnknownNameError
from infra.registry import unknown_name
from tasks.encoders import SYNTAX, EncoderClass, encoders
from tasks.encoders._api import api_encoder
from tasks.encoders._checkpoint import checkpoint_encoder
from tasks.encoders._hub import hub_encoder

Factory = Callable[[str, str, Mapping[str, str]], EncoderClass]

SCHEMES: Mapping[str, Factory] = MappingProxyType(
    {"checkpoint": checkpoint_encoder, "hub": hub_encoder, "api": api_encoder}
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def referenced_encoder(reference: str) -> EncoderClass:
    """Return the encoder that a reference stands for.

    Raises:
        UnknownNameError: The reference has an unknown scheme or no target.
        SettingsError: Its name is taken or unusable, or an option is unknown or has a bad value.
        EncoderError: What it names cannot be read.
    """
    scheme, _, rest = reference.partition(":")
    place, _, query = rest.partition("?")
    name, equals, target = place.partition("=")
    target = target if equals else place
    if scheme not in SCHEMES or not target:
        known = [*encoders.names(), *(f"{scheme}:…" for scheme in SCHEMES)]
        raise UnknownNameError(f"{unknown_name('encoder', reference, known)}; write {SYNTAX}")
    name = name if equals else _last_part(target)
    check_name(name, reference)
    options = _options(query, reference)
    return SCHEMES[scheme](name, target, options)


def _last_part(target: str) -> str:
    return re.split(r"[/\\]", target.partition("@")[0].rstrip("/\\"))[-1]


def check_name(name: str, reference: str) -> None:
    """Refuse a name that cannot be that of a file and a column, or is a registered encoder's.

    Raises:
        SettingsError: It is such a name.
    """
    scheme, _, rest = reference.partition(":")
    place, mark, options = rest.partition("?")
    target = place.rpartition("=")[2] if place.startswith(f"{name}=") else place
    example = f"{scheme}:my-encoder={target}{mark}{options}"
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"encoder {reference}: {name!r} is no name for files and columns (letters, digits, "
            f". _ -); give one in front: {example}"
        )
    modules = {known for known in encoders.registered() if known.lower() == name.lower()}
    if modules:
        raise SettingsError(
            f"encoder {reference}: the name {name!r} is that of a registered encoder; give another "
            f"in front: {example}"
        )


def _options(query: str, reference: str) -> dict[str, str]:
    """Return the options of a reference, percent-decoded."""
    options: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        key, equals, value = pair.partition("=")
        if not equals or key in options:
            problem = "is given twice" if equals else "has no value"
            raise SettingsError(f"encoder {reference}: option {key} {problem}; write {key}=VALUE")
        options[key] = unquote(value)
    return options
