"""Encoders by a specification, or by a reference: ``SCHEME:[NAME=]TARGET[?KEY=VALUE&…]``.

References name encoders that are not registered:

- ``checkpoint:codebert=/models/codebert?like=codebert-search``: a folder of transformers, with the
  specification of a published encoder; ``checkpoint:FOLDER`` for one of sentence-transformers.
- ``api:openai/text-embedding-3-small``: an embedding API, by litellm's name.

Without NAME the last part of TARGET is the name. Values are encoded as in a URL's query.
"""

import hashlib
import re
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pydantic import ValidationError

from infra.errors import EncoderError, SettingsError, UnknownNameError
from infra.files import leads_outside
from infra.identity import digest
from infra.registry import unknown_name
from tasks.encoders._sentence_transformers import MODULES, plain_fields, read_modules
from tasks.encoders._specs import (
    ApiSpec,
    Encoder,
    EncoderClass,
    EncoderSpec,
    TransformerSpec,
    published_specs,
)

SCHEMES = ("checkpoint", "api")
SYNTAX = (
    "checkpoint:NAME=FOLDER for a model in a folder (`hf download` fetches one of the Hugging Face "
    "hub), api:PROVIDER/MODEL for an embedding API"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_API_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-ada-002": 1536}
TRAINED = "encoder.json"  # the description of a folder that `cosqa train` has written
# File that describes a folder → its reader; training, which stands above, puts its own here.
folder_readers: dict[str, Callable[[Path, dict[str, str]], tuple[EncoderSpec, Any]]] = {}
_CONTENT = {".safetensors", ".bin", ".json", ".txt", ".model"}
_REPORT = "training.json"  # of `cosqa train`, with the times that it took


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


def referenced_encoder(reference: str, registered: Collection[str]) -> EncoderClass:
    """Return the encoder of a reference, which may not take the name of a registered one."""
    scheme, _, rest = reference.partition(":")
    place, _, query = rest.partition("?")
    name, equals, target = place.partition("=")
    if not equals:
        target = place
        name = re.split(r"[/\\]", target.rstrip("/\\"))[-1]
    if scheme not in SCHEMES or not target:
        known = [*registered, *(f"{scheme}:…" for scheme in SCHEMES)]
        raise UnknownNameError(f"{unknown_name('encoder', reference, known)}; write {SYNTAX}")
    if not _NAME.fullmatch(name) or name.lower() in map(str.lower, registered):
        raise SettingsError(
            f"encoder {reference}: {name!r} is the name of a registered encoder, or none for files "
            f"and columns (letters, digits, . _ -); write {scheme}:my-encoder={target}?{query}"
        )
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) < len(pairs):
        raise SettingsError(f"encoder {reference}: an option is given twice")
    return (api_encoder if scheme == "api" else checkpoint_encoder)(name, target, options)


def api_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for an API, by litellm's name of the model."""
    identity = {
        "name": name,
        "model": target,
        "revision": "api",
        "licence": "the provider's terms",
        "source": "the provider's documentation",
        "similarity": "cosine",
        "shortened": "dimension" in options,
    }
    dimension = _API_DIMENSIONS.get(target.rpartition("/")[2], 0)
    usual = {"dimension": dimension, "max_length": 8191}  # as OpenAI's models have it
    return SpecifiedEncoder(_validated(ApiSpec, identity, usual, options))


class CheckpointEncoder(SpecifiedEncoder):
    """A class of encoders for the checkpoint in a folder, whose revision is its digest."""

    def __call__(self) -> Encoder:
        """Return the encoder."""
        folder, name = self.folder or Path(), self.spec.name
        check_checkpoint(folder, name)
        if content_digest(folder) != self.spec.revision:
            raise EncoderError(
                f"encoder {name!r}: {folder} on {socket.gethostname()} is not the checkpoint that "
                "this run started with: leave the folder as it is during a run, and give every "
                "node the same one"
            )
        return super().__call__()


def checkpoint_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for a folder of transformers, sentence-transformers or `cosqa train`.

    The options come first, then the published encoder that ``like`` names, then the files.
    """
    folder = Path(target).expanduser().absolute()
    check_checkpoint(folder, name)
    identity = {
        "name": name,
        "model": "checkpoint",
        "revision": content_digest(folder),
        "licence": "unknown",
        "source": str(folder),
    }
    if (folder / TRAINED).is_file() and not options:
        spec, load = folder_readers[TRAINED](folder, identity)
        return CheckpointEncoder(spec, load, folder)
    usual = _usual_fields(folder, options, name)
    given = {key: value for key, value in options.items() if key != "like"}
    return CheckpointEncoder(_validated(TransformerSpec, identity, usual, given), folder=folder)


def _validated(
    kind: type[EncoderSpec],
    identity: Mapping[str, Any],
    usual: Mapping[str, Any],
    options: Mapping[str, str],
) -> EncoderSpec:
    """Return a specification of fields that no option changes, usual fields and options."""
    prefix = f"encoder {identity['name']} ({identity['source']})"
    known = [field for field in kind.model_fields if field not in identity]
    if unknown := sorted(options.keys() - set(known)):
        raise SettingsError(f"{prefix}: no option {unknown[0]!r}; there are {', '.join(known)}")
    try:
        return kind.model_validate({**usual, **options, **identity})
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"]))
        raise SettingsError(
            f"{prefix}: {field} = {problem['input']!r}: {problem['msg']}; ?{field}=… replaces it"
        ) from None


def _usual_fields(folder: Path, options: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the fields that hold without options: of the encoder ``like``, or of the files."""
    if like := options.get("like"):
        known = {key: spec for key, spec in published_specs().items() if not spec.is_api}
        if like not in known:
            raise UnknownNameError(unknown_name("transformer", like, list(known)))
        return known[like].model_dump()
    is_described = (folder / MODULES).is_file()
    if not is_described and "pooling" not in options:
        raise SettingsError(
            f"encoder {name}: {folder} has no {MODULES}: add ?pooling=mean (or first, pooler, "
            "last), or ?like=ENCODER for a fine-tuned one of the registered encoders"
        )
    try:
        return read_modules(folder) if is_described else plain_fields(folder)
    except (AttributeError, KeyError, TypeError) as error:
        raise EncoderError(
            f"encoder {name}: {folder} has a file of another shape than its library's: {error!r}"
        ) from None


def content_digest(folder: Path) -> str:
    """Return the digest of a checkpoint's weights, configuration and tokenizer."""
    parts = []
    for file in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        if file.suffix in _CONTENT and file.is_file() and file.name != _REPORT:
            changed_ns = file.stat().st_mtime_ns
            parts += [file.relative_to(folder).as_posix(), _file_digest(file, changed_ns)]
    return digest("checkpoint", *parts)


@cache
def _file_digest(file: Path, changed_ns: int) -> str:  # noqa: ARG001 - part of the cache's key
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def check_checkpoint(folder: Path, name: str) -> None:
    """Check that a folder holds a model, all of it and no links to files outside."""
    files = (*folder.glob("*"), *folder.glob("*/*"))
    if not any((folder / file).is_file() for file in ("config.json", TRAINED)):
        problem = (
            f"does not exist on {socket.gethostname()}, or has no config.json; name a checkpoint's "
            "folder, which every node of a cluster must find under the same path"
        )
    elif outside := sorted(file for file in files if leads_outside(file, folder)):
        problem = f"has a link that leads outside, {outside[0]}: put the file itself there"
    elif (folder / "adapter_config.json").is_file():
        problem = "holds an adapter: merge it into its base model first (merge_and_unload of peft)"
    else:
        return
    raise EncoderError(f"encoder {name!r}: {folder} {problem}")
