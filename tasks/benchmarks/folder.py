"""Atomic replacement of a folder."""

import fcntl
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.errors import PublishError


@contextmanager
def atomic_folder(folder: Path, own: Callable[[Path], Collection[str]]) -> Iterator[Path]:
    """Give an empty sibling folder that takes the place of ``folder`` when the block succeeds.

    When the block fails, ``folder`` stays as it was. When the block removes the sibling, it stays
    too. Traces of a process that was killed here are cleared first; one process at a time works
    among the siblings, the others wait. A link stays one: what it points to is replaced.

    Args:
        folder: The folder.
        own: Returns the files of a folder, by their paths in it, that may go with it; one that ends
            in ``/`` stands for all below.

    Raises:
        PublishError: The folder has other files.
    """
    folder = folder.resolve()
    partial = folder.with_name(f".{folder.name}.partial")
    former = folder.with_name(f".{folder.name}.former")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder.parent):
        shutil.rmtree(partial, ignore_errors=True)
        if former.exists() and not folder.exists():  # a process was killed between two names
            former.rename(folder)
        shutil.rmtree(former, ignore_errors=True)
        _refuse_foreign(folder, own)
        partial.mkdir()
        try:
            yield partial
            if partial.exists():
                _refuse_foreign(folder, own)
                if folder.exists():
                    folder.rename(former)
                partial.rename(folder)
                shutil.rmtree(former, ignore_errors=True)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _refuse_foreign(folder: Path, own: Callable[[Path], Collection[str]]) -> None:
    """Refuse to replace a folder with files that this program has not written."""
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    known = own(folder) if files else ()
    below = tuple(name for name in known if name.endswith("/"))
    names = sorted(str(path.relative_to(folder)) for path in files)
    foreign = [name for name in names if name not in known and not name.startswith(below)]
    if foreign or (folder.exists() and not folder.is_dir()):
        what = f"has {foreign[0]}, which this program has not written" if foreign else "is a file"
        raise PublishError(f"{folder} {what}: move it away, or choose another folder with --output")


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # released by the kernel when the process ends
        yield
    finally:
        os.close(descriptor)
