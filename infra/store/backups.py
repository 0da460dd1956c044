"""Backups of a whole store: database, vectors and journal, with checksums.

A backup is a folder with the store's files and a list of them. It is made beside its place and
moved there when it is whole and was read back. Files of vectors are never changed, so that they get
a second name where the disk is the same, and are not copied.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from errno import ENOENT
from pathlib import Path

from pydantic import Field, ValidationError

from infra.atomic import BELOW, sync
from infra.disk import space_on
from infra.errors import StoreError
from infra.journal import snapshot
from infra.locks import locked
from infra.records import Record
from infra.settings import StoreSettings
from infra.store.connections import alone, opened_alone
from infra.store.copies import checksum, copy_verified, link_or_copy
from infra.store.versions import identity_in

MANIFEST = "cosqa-backup.json"
_OTHER_FOLDER = "choose another folder"


class BackedUpFile(Record):
    """A file of a backup: its path inside the folder, its bytes and their SHA-256."""

    path: str = Field(pattern=BELOW)
    size: int
    sha256: str


class Backup(Record):
    """What a backup holds.

    Attributes:
        store_id: The store that it is of.
        schema_version: Version of its database.
        made_at: When it was begun, in ISO 8601.
        files: All its files but the list itself.
    """

    store_id: str
    schema_version: int
    made_at: str
    files: tuple[BackedUpFile, ...]

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(file.size for file in self.files)


def back_up(
    settings: StoreSettings, folder: Path, report: Callable[[str], object] = lambda _: None
) -> Backup:
    """Write a backup of a store into a new folder.

    Runs may go on meanwhile; while the database is copied they wait. The backup has the database
    as it is then, and at least the vectors and replies that belong to it.

    Args:
        settings: A store that is there.
        folder: Must not exist, or be empty.
        report: Called with a sentence before each step.

    Raises:
        StoreError: The folder is not empty or cannot be made, or a file cannot be read.
        UnrecordableError: The journal is damaged.
        StoreLockedError: Another process has the database open for too long.
        DiskFullError: The disk has no room; nothing is left of the backup.
    """
    folder = folder.resolve()
    _require_new(settings, folder)
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    with space_on(folder, _OTHER_FOLDER), _whole_folder(folder) as partial:
        report("copying the database")
        with alone(settings):
            with opened_alone(settings) as connection:
                identity = identity_in(connection, settings.database)
            copy_verified(settings.database, partial / settings.database.name)
        report("copying replies and what was spent")
        snapshot(settings.journal, partial / settings.journal.name)
        for part, copy in ((settings.vectors, link_or_copy), (settings.refused, copy_verified)):
            report(f"copying {part.name}")
            for file in _files_below(part):
                _copy(copy, file, partial / file.relative_to(settings.folder))
        _require_vectors(settings, partial)
        report("reading the backup")
        backup = Backup(
            store_id=identity.store_id,
            schema_version=identity.version,
            made_at=made_at,
            files=tuple(_described(partial)),
        )
        (partial / MANIFEST).write_text(backup.model_dump_json(indent=1), "utf-8")
        sync(partial / MANIFEST)
    return backup


def read_backup(folder: Path) -> Backup:
    """Return what a backup says that it holds.

    Raises:
        StoreError: The folder is no backup.
    """
    file = folder / MANIFEST
    try:
        if not file.is_file():  # a named pipe would be waited for
            raise FileNotFoundError(ENOENT, "no such file", str(file))
        return Backup.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise StoreError(
            f"{folder} is no backup of a store ({file} cannot be read: {error}); name a folder "
            "that `cosqa store backup` has written"
        ) from error


def faults_of(folder: Path, backup: Backup) -> Iterator[str]:
    """Yield what is wrong with the files of a backup, all of which are read."""
    for expected in backup.files:
        file = folder / expected.path
        try:
            if not file.is_file():
                yield f"{expected.path} is missing"
            elif checksum(file) != expected.sha256:
                yield f"{expected.path} has other content than was written"
        except OSError as error:  # a name that no disk takes, or a file that may not be read
            yield f"{expected.path[:200]} cannot be read: {error.strerror}"


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """Give the path of a folder that takes its place when the block succeeds, and is gone else."""
    partial = folder.with_name(f".{folder.name}.partial")
    with ExitStack() as stack:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder.with_name(f".{folder.name}.lock"), wait=False))
        except BlockingIOError:
            raise StoreError(f"another backup into {folder} is being made: wait for it") from None
        except OSError as error:
            raise StoreError(f"{folder} cannot be made ({error}): {_OTHER_FOLDER}") from error
        stack.callback((folder.with_name(f".{folder.name}.lock")).unlink, missing_ok=True)
        shutil.rmtree(partial, ignore_errors=True)  # of a backup that was killed
        stack.callback(shutil.rmtree, partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        sync(partial)
        partial.rename(folder)
        sync(folder.parent)


def _require_new(settings: StoreSettings, folder: Path) -> None:
    store = settings.folder.resolve()
    if folder.is_relative_to(store) or store.is_relative_to(folder):
        raise StoreError(
            f"a backup of {store} cannot be in {folder}, which would go with the store: "
            f"{_OTHER_FOLDER}"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} is there and not empty: {_OTHER_FOLDER} for the backup")


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files that belong to a store, in the order of their names, behind links too."""
    found, seen = [], set()
    for here, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(here)
        if real in seen:  # links in a circle
            folders.clear()
            continue
        seen.add(real)
        found += [Path(here, name) for name in names if not name.endswith(".partial")]
    yield from (path for path in sorted(found) if path.is_file())


def _require_vectors(settings: StoreSettings, partial: Path) -> None:
    """Require all files of vectors that the copied database names.

    Raises:
        StoreError: One is missing.
    """
    copied = settings.model_copy(update={"folder": partial})
    with opened_alone(copied) as connection:
        rows = connection.execute("SELECT DISTINCT file FROM vector_files ORDER BY 1").fetchall()
    lost = [str(file) for (file,) in rows if not (copied.vectors / str(file)).is_file()]
    if lost:
        raise StoreError(
            f"{settings.vectors} lacks {len(lost):,} of {len(rows):,} files that the database "
            f"names, such as {lost[0]}: `cosqa store check` says what else is wrong; no backup "
            "was made"
        )


def _copy(copy: Callable[[Path, Path], None], file: Path, target: Path) -> None:
    """Copy a file; one that has gone meanwhile was of a run that has ended."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        copy(file, target)
    except FileNotFoundError:
        target.unlink(missing_ok=True)


def _described(folder: Path) -> Iterator[BackedUpFile]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield BackedUpFile(
                path=path.relative_to(folder).as_posix(),
                size=path.stat().st_size,
                sha256=checksum(path),
            )
