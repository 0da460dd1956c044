"""References to encoders without a file of their own: ``SCHEME:[NAME=]TARGET[?KEY=VALUE&…]``.

- ``checkpoint:codebert=/models/codebert?like=codebert-search``: a folder, with the specification of
  a registered encoder; ``checkpoint:FOLDER`` alone for a folder of sentence-transformers.
- ``hub:intfloat/e5-small-v2@COMMIT``: a model of the Hugging Face hub.
- ``api:openai/text-embedding-3-small``: an embedding API, by litellm's name.

Without NAME the last part of TARGET is the name. Values may be percent-encoded.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import httpx

from infra.errors import EncoderError, SettingsError, UnknownNameError
from infra.registry import unknown_name
from tasks.encoders import SYNTAX, EncoderClass, encoders
from tasks.encoders._api import ApiReference, ApiSpec, api_encoder
from tasks.encoders._checkpoint import checkpoint_encoder, described
from tasks.encoders._transformer import SpecifiedEncoder, TransformerSpec

Factory = Callable[[str, str, Mapping[str, str]], EncoderClass]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DESCRIPTION = ["*.json", "*/config.json", "*.txt", "*.model"]


def hub_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for a model of the hub, or for the folder that stands in for it.

    Args:
        name: The encoder's name.
        target: ``ORG/MODEL@COMMIT``.
        options: As of a checkpoint.

    Raises:
        SettingsError: There is no commit, an option is unknown or has a bad value, or one is
            missing.
        EncoderError: The hub cannot be reached and its cache lacks the files.
    """
    model, _, commit = target.partition("@")
    if not _COMMIT.fullmatch(commit):
        raise SettingsError(
            f"encoder {name}: hub:{target} names no commit: write hub:ORG/MODEL@COMMIT, of which "
            f"https://huggingface.co/{model}/commits has the 40 digits"
        )
    if folder_given := encoders.stand_in(options.get("like", ""), model, commit):
        return checkpoint_encoder(name, str(folder_given), options)
    identity = {
        "name": name,
        "model": model,
        "revision": commit,
        "licence": options.get("licence", "unknown"),
        "source": f"https://huggingface.co/{model}",
    }
    # An encoder that is like another is described by that.
    folder = Path() if "like" in options else _description(name, model, commit)
    return SpecifiedEncoder(described(folder, identity, options))


def _description(name: str, model: str, commit: str) -> Path:
    """Return the folder with a model's configuration, from the hub or, without it, its cache."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - only where it is used

    fetch = partial(snapshot_download, model, revision=commit, allow_patterns=_DESCRIPTION)
    try:
        try:
            return Path(fetch())
        except (OSError, httpx.HTTPError):
            return Path(fetch(local_files_only=True))
    except (OSError, ValueError, httpx.HTTPError) as error:  # of cache, id, hub, connection
        raise EncoderError(
            f"encoder {name!r}: {model} at {commit} is neither in the hub's cache (HF_HOME says "
            f"where it is) nor to be had from the hub: {str(error)[:300]}"
        ) from error


def published(fields: Mapping[str, Any]) -> EncoderClass:
    """Return the encoder for a table of ``specs.toml``, its name among the fields."""
    stated = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in fields.items()
        if key != "about"
    }
    if stated["revision"] == "api":
        return ApiReference(ApiSpec(**stated), fields["about"])
    return SpecifiedEncoder(TransformerSpec(**stated), about=fields["about"])


SCHEMES: Mapping[str, Factory] = MappingProxyType(
    {"checkpoint": checkpoint_encoder, "hub": hub_encoder, "api": api_encoder}
)


def referenced_encoder(reference: str) -> EncoderClass:
    """Return the encoder that a reference stands for.

    Raises:
        UnknownNameError: The reference has an unknown scheme or no target.
        SettingsError: Its name is taken or unusable, or an option is unknown or has a bad value.
        EncoderError: The files it names cannot be read.
    """
    scheme, _, rest = reference.partition(":")
    place, _, query = rest.partition("?")
    name, equals, target = place.partition("=")
    if not equals:
        target = place
        name = re.split(r"[/\\]", target.partition("@")[0].rstrip("/\\"))[-1]
    if scheme not in SCHEMES or not target:
        known = [*encoders.names(), *(f"{scheme}:…" for scheme in SCHEMES)]
        raise UnknownNameError(f"{unknown_name('encoder', reference, known)}; write {SYNTAX}")
    problem = ""
    if not _NAME.fullmatch(name):
        problem = f"{name!r} is no name for files and columns (letters, digits, . _ -)"
    elif name.lower() in map(str.lower, encoders.registered()):
        problem = f"the name {name!r} is that of a registered encoder"
    if problem:
        example = f"{scheme}:my-encoder={target}" + (f"?{query}" if query else "")
        raise SettingsError(f"encoder {reference}: {problem}; give one in front: {example}")
    return SCHEMES[scheme](name, target, _options(query, reference))


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
