"""Encoders by an id of the Hugging Face hub, at one commit."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import httpx

from infra.errors import EncoderError
from tasks.encoders import EncoderClass, encoders
from tasks.encoders._checkpoint import checkpoint_encoder, described
from tasks.encoders._transformer import SpecifiedEncoder

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
        commit = commit_of(model, revision or "main")
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
    spec, kind = described(folder, identity, options)
    return SpecifiedEncoder(spec, kind)


def _description(model: str, commit: str) -> Path:
    """Return the folder with a model's configuration, from the hub or, without it, its cache."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - only where it is used

    fetch = partial(snapshot_download, model, revision=commit, allow_patterns=_DESCRIPTION)
    try:
        return Path(fetch())
    except (OSError, httpx.HTTPError):
        return Path(fetch(local_files_only=True))


def commit_of(model: str, revision: str) -> str:
    """Return the commit of a revision: that in the hub's cache, so that it stays; else the hub's.

    Raises:
        OSError: The hub cannot be reached, or has no such model or revision.
    """
    from huggingface_hub import constants, hf_hub_download  # noqa: PLC0415
    from huggingface_hub.file_download import repo_folder_name  # noqa: PLC0415

    if _COMMIT.fullmatch(revision):
        return revision
    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=model, repo_type="model")
    known = folder / "refs" / revision
    if not known.is_file():
        hf_hub_download(model, "config.json", revision=revision)  # which writes that file
    return known.read_text("utf-8").strip()
