"""Putting a backup in a store's place, whole or not at all."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from infra.atomic import exchange, sync
from infra.disk import OTHER_STORE, space_on
from infra.errors import StoreError, StoreVersionError
from infra.settings import StoreSettings
from infra.store.backups import Backup, faults_of, read_backup
from infra.store.connections import alone
from infra.store.copies import copy_verified, link_or_copy
from infra.store.lease import writer_lease
from infra.store.migrations import SCHEMA_VERSION


def restore(
    settings: StoreSettings,
    folder: Path,
    *,
    force: bool = False,
    report: Callable[[str], object] = lambda _: None,
) -> Path | None:
    """Put a backup in the place of a store; return where the one that was there is kept.

    The backup is copied and compared with its checksums beside the store first; then both folders
    take each other's names.

    Args:
        settings: Where the store is to be.
        folder: The backup.
        force: Whether a store that is there may give way.
        report: Called with a sentence before each step.

    Raises:
        StoreError: There is a store and no ``force``, or the backup is damaged or none.
        StoreBusyError: A run writes to the store that is there.
        StoreVersionError: The backup is of a later release.
        DiskFullError: The disk has no room; the store is as it was.
    """
    store, folder = settings.folder.absolute(), folder.absolute()
    present = store.is_dir() and any(store.iterdir())
    if present and not force:
        raise StoreError(
            f"{store} is not empty: --force puts the backup in its place and keeps it under "
            "another name; or name another folder with --store"
        )
    backup = _readable(folder)
    new = store.with_name(f".{store.name}.restoring")
    with space_on(store.parent, OTHER_STORE), ExitStack() as stack:
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
        report("putting it in place")
        return _put_in_place(settings, new, present=present)


def _readable(folder: Path) -> Backup:
    """Return what a backup holds that this release can read."""
    backup = read_backup(folder)
    if backup.schema_version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"the backup {folder} has schema version {backup.schema_version}, this program reads "
            f"version {SCHEMA_VERSION}: restore it with the release that made it"
        )
    return backup


def _put_in_place(settings: StoreSettings, new: Path, *, present: bool) -> Path | None:
    store = settings.folder.absolute()
    if not present:
        new.rename(store)
        return None
    kept = store.with_name(f"{store.name}-before-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z")
    with writer_lease(settings, "cosqa store restore"), alone(settings, whole=False):
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


def _copy(copy: Callable[[Path, Path], None], source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        copy(source, target)
    except FileNotFoundError:
        raise StoreError(
            f"the backup is damaged: {source} is missing; nothing was changed, use another backup"
        ) from None
