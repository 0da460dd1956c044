"""Atomic writing of files, whole or not at all, and their way to the disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Of a path that leads to nothing outside the folder that it is taken from.
BELOW = r"^[^/\x00]*[^/.\x00][^/\x00]*(/[^/\x00]*[^/.\x00][^/\x00]*)*$"


@contextmanager
def atomic_write(file: Path) -> Iterator[Path]:
    """Give the path of a sibling that takes the place of ``file`` when the block succeeds.

    When the block fails, ``file`` stays as it was, or absent; its folder is made where it lacks.
    Each process has a sibling of its own, so that two that write one file do not mix.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Write a file's content, or a folder's entries, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
