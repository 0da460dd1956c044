"""Full disks: one error that names the folder and a way out, whoever was writing."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.errors import DiskFullError

OTHER_STORE = "move the store and name it with --store"
OTHER_OUTPUT = "choose another folder with --output"

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# DuckDB's errors have no number: what the system says, and what DuckDB says when it may not spill.
_PHRASES = ("No space left on device", "Disk quota exceeded", "max_temp_directory_size")


@contextmanager
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
        raise DiskFullError(
            f"the disk of {folder} is full ({_free(folder)} are free): what was there before is "
            f"unchanged; free some space or {way_out}, then run the same command again"
        ) from error


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error says that a disk is full, of Python, Arrow or DuckDB."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return any(phrase in str(error) for phrase in _PHRASES)


def _free(folder: Path) -> str:
    there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), None)
    if there is None:
        return "no bytes"
    return f"{shutil.disk_usage(there).free / 2**20:,.1f} MiB"
