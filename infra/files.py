"""Files and folders: whole writing, full disks, links that lead outside, and locks.

What a command writes for its user is written all or none (`write_outputs`).

A link in a folder that others may have written is followed where it leads to a place in the same
folder. One that leads outside would bring files in that the folder's author does not have, under
the folder's name and licence: it is named.

By a lock on a file processes of a machine take turns. The kernel drops it with the process that
holds it, however that ends.
"""

import errno
import fcntl
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from infra.errors import DiskFullError, SettingsError

if TYPE_CHECKING:
    import pyarrow as pa

# Of a path that leads to nothing outside the folder that it is taken from.
BELOW = r"^[^/\x00]*[^/.\x00][^/\x00]*(/[^/\x00]*[^/.\x00][^/\x00]*)*$"
OTHER_STORE = "move the store and name it with --store"
OTHER_OUTPUT = "choose another folder with --output"

_FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})
# DuckDB's errors have no number: what the system says, and what DuckDB says when it may not spill.
_FULL_DISK_PHRASES = ("No space left on device", "Disk quota exceeded", "max_temp_directory_size")
LINK_OUTSIDE = "link-outside"  # the rule by which items are counted that are left out for it
_LONGEST_NAME = 200  # bytes of what a holder says of itself
_log = logging.getLogger(__name__)


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
        free_mb = free_bytes(folder) / 2**20
        raise DiskFullError(
            f"the disk of {folder} is full ({free_mb:,.1f} MiB are free): what was there before is "
            f"unchanged; free some space or {way_out}, then run the same command again"
        ) from error


def is_disk_full(error: BaseException) -> bool:
    """Return True if an error says that a disk is full, of Python, Arrow or DuckDB."""
    if isinstance(error, OSError) and error.errno in _FULL_DISK:
        return True
    return any(phrase in str(error) for phrase in _FULL_DISK_PHRASES)


def free_bytes(folder: Path) -> int:
    """Return the bytes free to this user on a folder's disk, which need not exist yet."""
    for path in (folder, *folder.absolute().parents):
        with suppress(OSError):
            return shutil.disk_usage(path).free
    return 0


def leads_outside(path: Path, folder: Path) -> bool:
    """Return True if a path in a folder is, or lies behind, a link that leads outside of it.

    A folder below ``snapshots`` in the hub's cache has its files in ``blobs`` beside that.
    """
    place, found = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    caches = [parent.parent / "blobs" for parent in place.parents if parent.name == "snapshots"]
    return not any(map(found.is_relative_to, (place, *caches)))


@contextmanager
def locked(file: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold a lock on a file inside the ``with``; yield its descriptor, open for both ways.

    The file names the process that holds it, for those who wait.

    Args:
        file: The file; it and its folder are made where they lack.
        wait: Whether to wait for a process that holds it, which is told.

    Raises:
        BlockingIOError: Another process holds it, and there is to be no wait.
        OSError: The file cannot be opened.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise
            holder = (
                os.pread(handle, _LONGEST_NAME, 0).decode(errors="replace") or "another process"
            )
            _log.warning("waiting for %s, which holds %s", holder, file)
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(OSError):  # of a full disk: the lock needs no name
            os.ftruncate(handle, 0)
            words = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
            os.pwrite(handle, f"process {os.getpid()} ({words})".encode()[:_LONGEST_NAME], 0)
        yield handle
    finally:
        os.close(handle)  # and with it the lock


def require_writable(file: Path) -> None:
    """Refuse a file that cannot be written later, when what it is to hold was paid for.

    Its folder is made where it lacks, and written to.

    Raises:
        SettingsError: It cannot be written, or is something else than a file.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name[:100]}.", suffix=".partial"):
            problem = "it is no file" if file.exists() and not file.is_file() else ""
    except (OSError, ValueError) as error:
        problem = str(error)
    if problem:
        raise SettingsError(f"--output {file} cannot be written ({problem}): choose another file")


def write_outputs(folder: Path, files: Mapping[str, "str | pa.Table"]) -> None:
    """Write texts, and tables as Parquet, into a folder, in the place of older ones.

    Args:
        folder: Is made where it lacks; other files in it stay.
        files: Name → content.

    Raises:
        DiskFullError: The disk is full; all older files are as they were.
        SettingsError: A folder has the name of a file; likewise.
    """
    if taken := [folder / name for name in files if (folder / name).is_dir()]:
        raise SettingsError(f"{taken[0]} is a folder, where a file is to be written: move it away")
    with space_on(folder, OTHER_OUTPUT), ExitStack() as written:
        for name, content in files.items():
            partial = written.enter_context(atomic_write(folder / name))
            if isinstance(content, str):
                partial.write_text(content, encoding="utf-8")
            else:
                from pyarrow import parquet  # noqa: PLC0415 - most who write files load no Arrow

                parquet.write_table(content, partial)
