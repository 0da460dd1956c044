"""Atomic writing of files, whole or not at all, their way to the disk, and exchange of folders."""

import ctypes
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


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


def exchange(one: Path, other: Path) -> None:
    """Let two files or folders on one disk take each other's names.

    On Linux that is one step; elsewhere, where ``one`` is absent for an instant, three: see `heal`.

    Raises:
        OSError: They cannot be renamed.
    """
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(one), os.fsencode(other)
    if rename and not rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
        return
    one.rename(_aside(one))
    other.rename(one)
    _aside(one).rename(other)


def heal(one: Path) -> None:
    """Give a file or folder its name back, if a process was killed while it was exchanged."""
    if not one.exists() and _aside(one).exists():
        _aside(one).rename(one)


def _aside(one: Path) -> Path:
    return one.with_name(f".{one.name}.aside")
