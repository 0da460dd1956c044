"""Backups of a whole store: database, vectors and journal, with checksums; and their restoration.

A backup is a folder with the store's files and a list of them. It is made beside its place and
moved there when it is whole and was read back. Files of vectors are never changed, so that they get
a second name where the disk is the same, and are not copied. A backup is put in a store's place
whole or not at all.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from errno import ENOENT
from pathlib import Path

from pydantic import Field, ValidationError

from infra.atomic import BELOW, atomic_write, exchange, sync
from infra.disk import OTHER_STORE, is_disk_full, space_on
from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.journal import snapshot, take_over
from infra.locks import locked
from infra.records import Record
from infra.settings import StoreSettings
from infra.sqlite import unwritten
from infra.store.database import SCHEMA_VERSION, alone, identity_in, identity_of, opened_alone
from infra.store.runs import writer_lease


def copy_verified(source: Path, target: Path) -> None:
    """Copy a file that nobody writes to, with its times, and read both again.

    Where that fails, ``target`` stays as it was, or absent.

    Raises:
        StoreError: The copy differs: the disk is at fault.
    """
    with atomic_write(target) as partial:
        shutil.copy2(source, partial)
        sync(partial)
    sync(target.parent)
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


def restore(
    settings: StoreSettings,
    folder: Path,
    *,
    force: bool = False,
    report: Callable[[str], object] = lambda _: None,
) -> Path | None:
    """Put a backup in the place of a store; return where the one that was there is kept.

    The backup is copied and compared with its checksums beside the store first; then both folders
    take each other's names. Replies that were paid for since, and what was spent, are taken over;
    so are batches in flight, where the backup is of the store that is there.

    Args:
        settings: Where the store is to be.
        folder: The backup.
        force: Whether a store that is there may give way.
        report: Called with a sentence before each step.

    Raises:
        StoreError: There is a store and no ``force``, or no folder, or the backup is damaged.
        StoreLockedError: Another process has the database open, or restores.
        StoreBusyError: A run writes to the store that is there.
        StoreVersionError: The backup is of a later release.
        DiskFullError: The disk has no room; the store is as it was.
    """
    store, folder = settings.folder.resolve(), folder.resolve()
    present = _is_taken(store)
    if present and not force:
        raise StoreError(
            f"{store} is not empty: --force puts the backup in its place and keeps it under "
            "another name; or name another folder with --store"
        )
    backup = _readable(folder)
    paths = [folder / file.path for file in backup.files]
    if links := [path for path in paths if path.resolve() != path]:
        raise StoreError(
            f"{folder} is no backup that `cosqa store backup` has written: {links[0]} is, or lies "
            "behind, a link; nothing was changed, use another backup"
        )
    new = store.with_name(f".{store.name}.restoring")
    with space_on(store.parent, OTHER_STORE), ExitStack() as stack:
        stack.enter_context(_only_one(store))
        stack.callback(shutil.rmtree, new, ignore_errors=True)
        shutil.rmtree(new, ignore_errors=True)  # of a process that was killed
        report("copying the backup")
        for file in backup.files:
            copy = link_or_copy if file.path.startswith("vectors/") else copy_verified
            _copy_back(copy, folder / file.path, new / file.path)
        report("comparing it with its checksums")
        if faults := list(faults_of(new, backup)):
            raise StoreError(
                f"the backup {folder} is damaged: {'; '.join(faults[:5])}; nothing was changed, "
                "use another backup"
            )
        return _put_in_place(settings, new, report, backup if present else None)


def _is_taken(store: Path) -> bool:
    """Return whether something is in a folder, which need not be there.

    Raises:
        StoreError: It is no folder and cannot be made one.
    """
    there = next(path for path in (store, *store.parents) if path.exists())
    if not there.is_dir():
        raise StoreError(f"{there} is no folder: name another place for the store with --store")
    return there == store and any(store.iterdir())


def _readable(folder: Path) -> Backup:
    """Return what a backup holds that this release can read."""
    backup = read_backup(folder)
    if backup.schema_version != SCHEMA_VERSION:
        raise StoreVersionError(
            f"the backup {folder} has schema version {backup.schema_version}, this program reads "
            f"version {SCHEMA_VERSION}: restore it with the release that made it"
        )
    return backup


@contextmanager
def _only_one(store: Path) -> Iterator[None]:
    """Keep other processes from restoring this store inside the ``with``."""
    file = store.with_name(f".{store.name}.restoring.lock")
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(file, wait=False))
        except BlockingIOError:
            raise StoreLockedError(
                f"another process puts a backup in the place of {store}: wait for it"
            ) from None
        stack.callback(file.unlink, missing_ok=True)
        yield


def _put_in_place(
    settings: StoreSettings, new: Path, report: Callable[[str], object], since: Backup | None
) -> Path | None:
    """Let the copy of a backup take the store's name, and what was paid for ``since`` then."""
    store = settings.folder.resolve()
    if not since:
        report("putting it in place")
        new.rename(store)
        sync(store.parent)
        return None
    kept = store.with_name(f"{store.name}-before-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z")
    with ExitStack() as stack:
        stack.enter_context(writer_lease(settings, "cosqa store restore"))
        report("taking over what was paid for since")
        if settings.journal.exists():
            with suppress(sqlite3.DatabaseError):  # damaged: nobody writes to it
                stack.enter_context(unwritten(settings.journal))
            is_same = _is_of(settings, since)
            take_over(settings.journal, new / settings.journal.name, is_same=is_same)
        stack.enter_context(alone(settings, whole=False))
        report("putting it in place")
        new.rename(kept)  # the name that the former store has after the exchange
        try:
            exchange(store, kept)
        except OSError as error:
            shutil.rmtree(kept)
            raise StoreError(
                f"{store} cannot be renamed ({error}): restore into another folder with --store"
            ) from error
        sync(store.parent)
    return kept


def _is_of(settings: StoreSettings, backup: Backup) -> bool:
    """Return whether a backup is of the store that is there, as far as that one can tell."""
    if not settings.database.is_file():
        return True
    try:
        return identity_of(settings).store_id == backup.store_id
    except StoreLockedError:
        raise
    except StoreError:
        return True


def _copy_back(copy: Callable[[Path, Path], None], source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        copy(source, target)
    except OSError as error:
        if is_disk_full(error):
            raise
        raise StoreError(
            f"the backup is damaged: {str(source)[:500]} cannot be copied ({error.strerror}); "
            "nothing was changed, use another backup"
        ) from None
