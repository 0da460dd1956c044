"""A disk of a few megabytes, which fills up."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of that size at a folder until the generator is resumed; root only."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
