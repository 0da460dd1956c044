"""Encoders from a folder: any fine-tuned transformers or sentence-transformers checkpoint."""

import hashlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from infra.errors import EncoderError, SettingsError, UnknownNameError
from infra.identity import digest
from infra.links import leads_outside
from infra.registry import unknown_name
from tasks.encoders._sentence_transformers import MODULES, plain_fields, read_modules
from tasks.encoders._specs import (
    Encoder,
    EncoderClass,
    SpecifiedEncoder,
    TransformerSpec,
    published_specs,
    validated,
)

_OPTIONS = (
    "like", "pooling", "dimension", "max_length", "query_length", "code_length", "query_prefix",
    "code_prefix", "white_space", "similarity", "precision",
)  # fmt: skip
TRAINED = "encoder.json"  # the description of a folder that `cosqa train` has written
_CONTENT = {".safetensors", ".bin", ".json", ".txt", ".model"}
_REPORT = "training.json"  # of `cosqa train`, with the times that it took


@dataclass(frozen=True)
class CheckpointEncoder(SpecifiedEncoder):
    """An encoder class for the checkpoint in a folder; the digest of its content is the revision.

    Attributes:
        folder: The folder, absolute.
    """

    folder: Path = Path()

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return the encoder."""
        folder = checkpoint or self.folder
        if content_digest(_existing(folder, self.spec.name)) != self.spec.revision:
            raise EncoderError(
                f"the checkpoint {folder} of encoder {self.spec.name!r} on {socket.gethostname()} "
                "is not the one that this run started with: leave the folder as it is during a "
                "run, and give every node the same one"
            )
        return self.load(folder, self.spec)


def checkpoint_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for a folder.

    The options come first, then the published encoder that ``like`` names, then the files.

    Args:
        name: The encoder's name.
        target: The folder.
        options: ``like`` and fields of a `TransformerSpec`.
    """
    folder = _existing(Path(target).expanduser().absolute(), name)
    identity = {
        "name": name,
        "model": "checkpoint",
        "revision": content_digest(folder),
        "licence": "unknown",
        "source": str(folder),
    }
    if (folder / TRAINED).is_file() and not options:
        # By name, since training stands above the encoders.
        spec, load = import_module("tasks.training.encoder").reading_of(folder, identity)
        return CheckpointEncoder(spec, load, folder=folder)
    usual = _usual_fields(folder, options, name)
    given = {key: value for key, value in options.items() if key != "like"}
    spec = validated(TransformerSpec, identity, usual, given, _OPTIONS)
    return CheckpointEncoder(spec, folder=folder)


def _usual_fields(folder: Path, options: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the fields that hold without options: of the encoder ``like``, or of the files."""
    if like := options.get("like"):
        known = published_specs()
        if like not in known:
            raise UnknownNameError(unknown_name("encoder", like, list(known)))
        if known[like].is_api:
            raise SettingsError(f"encoder {name}: like={like} names no transformer")
        return known[like].model_dump()
    is_described = (folder / MODULES).is_file()
    if not is_described and "pooling" not in options:
        raise SettingsError(
            f"encoder {name}: {folder} has no {MODULES} of sentence-transformers, so say how its "
            "tokens become a vector: ?pooling=mean (or first, pooler, last), or ?like=ENCODER for "
            "a fine-tuned one of the registered encoders"
        )
    try:
        return read_modules(folder) if is_described else plain_fields(folder)
    except (AttributeError, KeyError, TypeError) as error:
        raise EncoderError(
            f"encoder {name}: {folder} has a file of another shape than its library writes: "
            f"{error!r}"
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


def _existing(folder: Path, name: str) -> Path:
    if not any((folder / name).is_file() for name in ("config.json", MODULES, TRAINED)):
        problem = "has no config.json" if folder.is_dir() else "does not exist"
        raise EncoderError(
            f"encoder {name!r}: {folder} {problem} on {socket.gethostname()}; name the folder that "
            "save_pretrained or sentence-transformers wrote. Workers on other nodes of a cluster "
            "read it under the same path, so keep it on storage that all of them mount"
        )
    files = (*folder.glob("*"), *folder.glob("*/*"))
    if outside := sorted(file for file in files if leads_outside(file, folder)):
        raise EncoderError(
            f"encoder {name!r}: {outside[0]} is, or lies behind, a link that leads outside of "
            f"{folder} ({len(outside)} in all): put the file itself there"
        )
    if (folder / "adapter_config.json").is_file():
        raise EncoderError(
            f"encoder {name!r}: {folder} holds an adapter only; merge it into its base model first "
            "(merge_and_unload of peft), since the base is no part of the folder"
        )
    return folder
