"""Atomic replacement of a folder."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Give an empty sibling folder that takes the place of ``folder`` when the block succeeds.

    When the block fails, ``folder`` stays as it was. When the block removes the sibling, it stays
    too. Traces of a process that was killed here are cleared first; one process at a time works
    among the siblings, the others wait.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    previous = folder.with_name(f".{folder.name}.previous")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder.parent):
        _clear(folder, partial, previous)
        partial.mkdir()
        try:
            yield partial
            if partial.exists():
                _swap(folder, partial, previous)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _clear(folder: Path, partial: Path, previous: Path) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    if folder.exists():
        shutil.rmtree(previous, ignore_errors=True)
    elif previous.exists():  # killed between the two renames
        previous.rename(folder)


def _swap(folder: Path, partial: Path, previous: Path) -> None:
    if folder.exists():
        folder.rename(previous)
    partial.rename(folder)
    shutil.rmtree(previous, ignore_errors=True)


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # released by the kernel when the process ends
        yield
    finally:
        os.close(descriptor)
