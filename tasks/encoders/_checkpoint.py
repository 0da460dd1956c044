"""Encoders from a folder: any fine-tuned transformers or sentence-transformers checkpoint."""

import hashlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from infra.errors import EncoderError, SettingsError
from infra.identity import digest
from infra.links import leads_outside
from tasks.encoders import Encoder, EncoderClass, encoders
from tasks.encoders._sentence_transformers import (
    LONGEST,
    MODULES,
    max_length,
    read,
    read_modules,
    stated_similarity,
)
from tasks.encoders._transformer import SpecifiedEncoder, TransformerEncoder, TransformerSpec
from tasks.encoders._weights import CODEXGLUE

OPTIONS = (
    "like", "pooling", "dimension", "max_length", "query_length", "code_length", "query_prefix",
    "code_prefix", "white_space", "similarity", "precision", "licence",
)  # fmt: skip
TRAINED = "encoder.json"  # by which a folder that `cosqa train` has written says how it is read
_CONTENT = {".safetensors", ".bin", ".json", ".txt", ".model"}
_NO_CONTENT = {
    "trainer_state.json", "training_args.bin", "optimizer.bin", "scheduler.bin",
    "all_results.json", "train_results.json", "eval_results.json", "training.json",
}  # fmt: skip


@dataclass(frozen=True)
class CheckpointEncoder(SpecifiedEncoder):
    """An encoder class for the checkpoint in a folder, whose content's digest is the revision.

    Attributes:
        folder: The folder, absolute.
    """

    folder: Path = Path()

    def __call__(self, checkpoint: Path | None = None) -> Encoder:
        """Return the encoder.

        Raises:
            EncoderError: The folder is not there, or has changed since it was named.
        """
        folder = checkpoint or self.folder
        if content_digest(_existing(folder, self.spec.name)) != self.spec.revision:
            raise EncoderError(
                f"the checkpoint {folder} of encoder {self.spec.name!r} on {socket.gethostname()} "
                "is not the one that this run started with: leave the folder as it is during a "
                "run, and give every node the same one"
            )
        return self.kind(folder, self.spec)


def checkpoint_encoder(name: str, target: str, options: Mapping[str, str]) -> EncoderClass:
    """Return the encoder for a folder.

    Args:
        name: The encoder's name.
        target: The folder.
        options: Those of ``OPTIONS``.

    Raises:
        SettingsError: An option is unknown or has a bad value, or one is missing.
        EncoderError: The folder is no checkpoint.
    """
    folder = _existing(Path(target).expanduser().absolute(), name)
    identity = {
        "name": name,
        "model": "checkpoint",
        "revision": content_digest(folder),
        "licence": options.get("licence", "unknown"),
        "source": str(folder),
    }
    if (folder / TRAINED).is_file() and not options.keys() - {"licence"}:
        # By name, since training stands above the encoders.
        spec, kind = import_module("tasks.training.encoder").reading_of(folder, identity)
    else:
        spec, kind = described(folder, identity, options), TransformerEncoder
    return CheckpointEncoder(spec, kind, folder=folder)


def described(
    folder: Path, identity: Mapping[str, str], options: Mapping[str, str]
) -> TransformerSpec:
    """Return the specification for the files in a folder.

    What the options say comes first, then the encoder named by ``like``, then the files.

    Args:
        folder: A checkpoint, of which the weights are not read.
        identity: The specification's name, model, revision, licence and source.
        options: Those of ``OPTIONS``.

    Raises:
        SettingsError: An option is unknown or has a bad value, or one is missing.
        EncoderError: The folder is no checkpoint that can be read.
    """
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise SettingsError(
            f"encoder {identity['name']}: no option {unknown[0]!r}; there are {', '.join(OPTIONS)}"
        )
    given = {key: value for key, value in options.items() if key not in ("like", "licence")}
    fields: dict[str, Any] = {**_known(folder, options, identity["name"]), **given, **identity}
    try:
        return TransformerSpec.model_validate(fields, strict=False)  # options are texts: "256"
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"]))
        stated = "" if field in given else f" (as {folder} states it: ?{field}=… comes before that)"
        raise SettingsError(
            f"encoder {identity['name']}: {field} = {problem['input']!r}: {problem['msg']}{stated}"
        ) from None


def _known(folder: Path, options: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the fields that follow from ``like`` or from the files."""
    if like := options.get("like"):
        spec = encoders.get(like).spec
        if not isinstance(spec, TransformerSpec):
            raise SettingsError(f"encoder {name}: like={like} names no transformer")
        return spec.model_dump()
    if (folder / MODULES).is_file():
        return read_modules(folder)
    if "pooling" not in options:
        raise SettingsError(
            f"encoder {name}: {folder} has no {MODULES} of sentence-transformers, so say how its "
            "tokens become a vector: ?pooling=mean (or first, pooler, last), or ?like=ENCODER for "
            "a fine-tuned one of the registered encoders"
        )
    config = read(folder / "config.json")
    width = config.get("hidden_size") or config.get("d_model") or config.get("dim")
    if not isinstance(width, int):
        raise EncoderError(f"{folder / 'config.json'} states no hidden_size")
    return {
        "dimension": width,
        "max_length": min(LONGEST, max_length(folder, {})),
        "special_tokens": "tokenizer",
        "similarity": stated_similarity(folder),
    }


def content_digest(folder: Path) -> str:
    """Return the digest of a checkpoint's weights, configuration and tokenizer."""
    files = sorted(
        file
        for file in (*folder.glob("*"), *folder.glob("*/*"))
        if file.is_file() and file.suffix in _CONTENT and file.name not in _NO_CONTENT
        if not file.parent.name.startswith("checkpoint-") or file.parent == folder
    )
    parts = []
    for file in files:
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
        if (folder / CODEXGLUE).is_file():
            raise EncoderError(
                f"encoder {name!r}: {folder} has CodeXGLUE's weights, {CODEXGLUE}, alone: copy "
                "config.json and the tokenizer's files of the model that was fine-tuned beside it"
            )
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
