"""Full disks: one error that names the folder and a way out, whoever was writing."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from infra.errors import DiskFullError

OTHER_STORE = "move the store and name it with --store"
OTHER_OUTPUT = "choose another folder with --output"

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# DuckDB's errors have no number: what the system says, and what DuckDB says when it may not spill.
_PHRASES = ("No space left on device", "Disk quota exceeded", "max_temp_directory_size")


@contextlib.contextmanager
def space_on(folder: Path, way_out: str) -> Iterator[None]:
    """Turn the error of a full disk inside the ``with`` into one that says what to do.

    Args:
        folder: The folder that is written to.
        way_out: What helps besides freeing space, such as `OTHER_OUTPUT`.

    Raises:
        DiskFullError: The disk, or the user's share of it, is full.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, DiskFullError) or not is_disk_full(error):
            raise
        free_mb = free_bytes(folder) / 2**20
        raise DiskFullError(
            f"the disk of {folder} is full ({free_mb:,.1f} MiB are free): what was there before is "
            f"unchanged; free some space or {way_out}, then run the same command again"
        ) from error


def is_disk_full(error: BaseException) -> bool:
    """Return True if an error says that a disk is full, of Python, Arrow or DuckDB."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return any(phrase in str(error) for phrase in _PHRASES)


def free_bytes(folder: Path) -> int:
    """Return the bytes free to this user on a folder's disk, which need not exist yet."""
    for path in (folder, *folder.absolute().parents):
        with contextlib.suppress(OSError):
            return shutil.disk_usage(path).free
    return 0
