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
        target: ``ORG/MODEL``, with ``@REVISION`` for a commit, a tag or a branch.
        options: As of a checkpoint.

    Raises:
        SettingsError: An option is unknown or has a bad value, or one is missing.
        EncoderError: The hub cannot be reached and its cache lacks the files.
    """
    model, _, revision = target.partition("@")
    try:
        commit = _commit_of(model, revision or "main")
        # One like another is described by that.
        folder = Path() if "like" in options else _description(model, commit)
    except (OSError, ValueError, httpx.HTTPError) as error:  # of cache, id, hub, connection
        raise EncoderError(
            f"encoder {name!r}: {model} at {revision or 'main'} is neither in the hub's cache "
            f"(HF_HOME says where it is) nor to be had from the hub: {str(error)[:300]}"
        ) from error
    if folder_given := encoders.stand_in(options.get("like", ""), model, commit):
        return checkpoint_encoder(name, str(folder_given), options)
    identity = {
        "name": name,
        "model": model,
        "revision": commit,
        "licence": options.get("licence", "unknown"),
        "source": f"https://huggingface.co/{model}",
    }
    return SpecifiedEncoder(described(folder, identity, options))


def _description(model: str, commit: str) -> Path:
    """Return the folder with a model's configuration, from the hub or, without it, its cache."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - only where it is used

    fetch = partial(snapshot_download, model, revision=commit, allow_patterns=_DESCRIPTION)
    try:
        return Path(fetch())
    except (OSError, httpx.HTTPError):
        return Path(fetch(local_files_only=True))


def _commit_of(model: str, revision: str) -> str:
    """Return the commit of a revision: that in the hub's cache, so that it stays; else the hub's.

    Raises:
        OSError: The hub cannot be reached, or has no such model or revision.
    """
    from huggingface_hub import hf_hub_download, try_to_load_from_cache  # noqa: PLC0415

    if _COMMIT.fullmatch(revision):
        return revision
    known = try_to_load_from_cache(model, "config.json", revision=revision)
    file = (
        known
        if isinstance(known, str)
        else hf_hub_download(model, "config.json", revision=revision)
    )
    return Path(file).parent.name


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
    _check_name(name, reference)
    options = _options(query, reference)
    return SCHEMES[scheme](name, target, options)


def _last_part(target: str) -> str:
    return re.split(r"[/\\]", target.partition("@")[0].rstrip("/\\"))[-1]


def _check_name(name: str, reference: str) -> None:
    """Refuse a name that cannot be that of a file and a column, or is a registered encoder's."""
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
