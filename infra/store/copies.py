"""Copies of files, each written whole or not at all, and on the disk when it is said to be."""

import hashlib
import os
import shutil
from pathlib import Path

from infra.atomic import atomic_write, sync
from infra.errors import StoreError


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file with its times; ``target`` stays as it was, or absent, where this fails."""
    with atomic_write(target) as partial:
        shutil.copy2(source, partial)
        sync(partial)
    sync(target.parent)


def copy_verified(source: Path, target: Path) -> None:
    """Copy a file that nobody writes to, and read both again.

    Raises:
        StoreError: The copy differs: the disk is at fault.
    """
    copy_whole(source, target)
    if checksum(source) != checksum(target):
        target.unlink()
        raise StoreError(f"{target} was written and read back with another content than {source}")


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that is never changed a second name, or copy it where that cannot be."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without links
        copy_verified(source, target)


def checksum(file: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
