"""Putting a backup in a store's place, whole or not at all."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from infra.atomic import exchange, sync
from infra.disk import OTHER_STORE, is_disk_full, space_on
from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.journal import take_over
from infra.locks import locked
from infra.settings import StoreSettings
from infra.sqlite import unwritten
from infra.store.backups import Backup, faults_of, read_backup
from infra.store.connections import alone
from infra.store.copies import copy_verified, link_or_copy
from infra.store.lease import writer_lease
from infra.store.versions import SCHEMA_VERSION, identity_of


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
            _copy(copy, folder / file.path, new / file.path)
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


def _copy(copy: Callable[[Path, Path], None], source: Path, target: Path) -> None:
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
