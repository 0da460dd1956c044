"""Upkeep of a store: backups of it, their restoration into an empty folder, and its check.

Files of vectors are never changed: they get a second name where the disk is the same, and are
copied elsewhere. A backup, or a restored store, is there when it is whole, or not at all. The check
looks at schema version, counts and references.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.files import BELOW, OTHER_STORE, leads_outside, space_on, sync
from infra.journal import fault_of, snapshot
from infra.settings import StoreSettings
from infra.store.database import Transaction
from infra.store.database_file import DatabaseFile, require_version
from infra.store.vectors import VectorFile

_OTHER_FOLDER = "choose another folder"
_PAIR = "query_id, code_id, recipe_id"
# Table, the columns by which each of its rows names a row of another, and that one.
_REFERENCES = (
    ("collection_queries", "query_id", "queries"),
    ("collection_codes", "code_id", "codes"),
    ("votes", "query_id", "queries"),
    ("votes", "code_id", "codes"),
    ("sample_items", "sample_id", "samples"),
    ("sample_items", "query_id", "queries"),
    ("sample_items", "code_id", "codes"),
    ("candidates", "search_id", "searches"),
    ("candidates", "query_id", "queries"),
    ("candidates", "code_id", "codes"),
    ("annotations", "query_id", "queries"),
    ("annotations", "code_id", "codes"),
    ("annotations", "recipe_id", "recipes"),
    ("llm_calls", _PAIR, "annotations"),
    ("executions", _PAIR, "annotations"),
    ("exports", "benchmark_id", "benchmarks"),
)
_COUNTED = ("queries", "codes", "candidates", "annotations", "llm_calls", "executions")


def back_up(settings: StoreSettings, folder: Path) -> None:
    """Write a backup of a store into a new folder, while runs may go on.

    It has the database as at one moment, and at least the vectors and replies that belong to it.

    Args:
        settings: A store that is there.
        folder: Must not exist, or be empty.

    Raises:
        StoreError: The folder is not empty or cannot be made, or a file is missing or damaged.
        UnrecordableError: The journal is damaged.
        StoreLockedError: Another process has the database open for too long.
    """
    store, folder = settings.folder.resolve(), folder.resolve()
    if folder.is_relative_to(store) or store.is_relative_to(folder):
        raise StoreError(
            f"a backup of {store} cannot be in {folder}, which would go with the store: "
            f"{_OTHER_FOLDER}"
        )
    with space_on(folder, _OTHER_FOLDER), _new_folder(folder) as partial:
        copy = settings.model_copy(update={"folder": partial})
        DatabaseFile(settings).copy_to(copy.database)
        snapshot(settings.journal, copy.journal)
        for file in _vector_files(copy):
            _link(settings.vectors / file, _within(copy.vectors / file, partial))


def restore(settings: StoreSettings, folder: Path) -> None:
    """Put a backup into the store's folder, which must not exist, or be empty.

    Args:
        settings: Where the store is to be.
        folder: The backup.

    Raises:
        StoreError: The store's folder is not empty or cannot be made, or ``folder`` is no backup,
            or has a file that leads outside of it.
        StoreVersionError: The backup is of another release.
    """
    store, backup = settings.folder.resolve(), settings.model_copy(update={"folder": folder})
    if not backup.database.is_file():
        raise StoreError(
            f"{folder} is no backup of a store: name a folder that `cosqa store backup` has written"
        )
    with space_on(store.parent, OTHER_STORE), _new_folder(store) as partial:
        copy = settings.model_copy(update={"folder": partial})
        for name in (backup.database.name, backup.journal.name):
            if (folder / name).exists():
                _copy(_within(folder / name, folder), partial / name)
        with DatabaseFile(copy).connected() as connection:
            require_version(connection, backup.database)
        for file in _vector_files(copy):
            source = _within(backup.vectors / file, folder)
            _link(source, _within(copy.vectors / file, partial))


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Give the path of a folder that takes its place when the block succeeds, and is gone else."""
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        if folder.exists() and any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty: move away what is in it, or {_OTHER_FOLDER}")
        shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
        partial.mkdir(parents=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made ({error}): {_OTHER_FOLDER}") from error
    try:
        yield partial
        sync(partial)
        partial.rename(folder)
        sync(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _vector_files(settings: StoreSettings) -> list[str]:
    """Return the names of the files of vectors that a database has.

    Raises:
        StoreError: One leads out of the folder of vectors.
    """
    with DatabaseFile(settings).connected() as connection:
        rows = connection.execute("SELECT DISTINCT file FROM vector_files ORDER BY 1").fetchall()
    for (file,) in rows:
        if not re.fullmatch(BELOW, file):
            raise StoreError(f"{settings.database} is no store: it names vectors in {file!r}")
    return [file for (file,) in rows]


def _within(file: Path, folder: Path) -> Path:
    """Return a path that must be in a folder: its name, or a link, may be a stranger's.

    Raises:
        StoreError: It leads outside.
    """
    if leads_outside(file, folder):
        raise StoreError(
            f"{file} leads outside of {folder}: put the file itself there, or take a backup that "
            "`cosqa store backup` has written"
        )
    return file


def _link(source: Path, target: Path) -> None:
    """Give a file that is never changed a second name, or copy it where that cannot be.

    Raises:
        StoreError: There is no such file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(os.path.realpath(source), target)  # of a link, the file
    except FileNotFoundError:
        raise StoreError(
            f"{source}, which the database names, is missing: `cosqa store check` says what else is"
        ) from None
    except OSError:  # another disk, or one without links
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    shutil.copy2(source, target)
    sync(target)


def row_counts(settings: StoreSettings) -> dict[str, int]:
    """Return table → number of its rows, of the large tables."""
    with DatabaseFile(settings).connected() as connection:
        tx = Transaction(connection)
        return {table: tx.count(f"SELECT count(*) FROM {table}") for table in _COUNTED}  # noqa: S608 - literals


def faults_of(settings: StoreSettings) -> Iterator[str]:
    """Yield the faults of a store, which is not changed.

    Raises:
        StoreLockedError: Another process has the database open: nothing is known of it.
        StoreVersionError: It is of another release.
    """
    database = DatabaseFile(settings)
    try:
        with database.connected() as connection:
            require_version(connection, database.path)
            tx = Transaction(connection)
            yield from _faults_of_rows(tx)
            files = tx.rows("SELECT DISTINCT file, items FROM vector_files")
    except (StoreLockedError, StoreVersionError):
        raise
    except StoreError as error:
        yield str(error)
        return
    for file, items in files:
        path = settings.vectors / str(file)
        if not path.exists():
            yield f"{path} is missing"
            continue
        try:
            opened = VectorFile(path)
            found = len(opened.ids), opened.rows.shape[0]
        except StoreError as error:
            yield f"{path} cannot be read: {error}"
            continue
        if found != (items, items):
            yield f"{path} has {found[1]:,} vectors instead of {items:,}"
    if fault := fault_of(settings.journal):
        yield f"{settings.journal} is damaged: {fault}"


def _faults_of_rows(tx: Transaction) -> Iterator[str]:
    faults = [
        (f"rows of {table} that name one that {target} lacks",
         f"{table} ANTI JOIN {target} USING ({columns})")
        for table, columns, target in _REFERENCES
    ]  # fmt: skip
    annotations = f"(SELECT {_PAIR} FROM {{}} GROUP BY ALL HAVING {{}})"  # noqa: S608
    faults += [
        (f"annotations with another number of {table} than were stored",
         annotations.format(table, "max(ordinal) + 1 <> count(*)"))
        for table in ("llm_calls", "executions")
    ]  # fmt: skip
    twice = annotations.format("annotations", "count(*) > 1")
    for fault, rows in (*faults, ("annotations that are there more than once", twice)):
        if number := tx.count(f"SELECT count(*) FROM {rows}"):  # noqa: S608 - literals
            yield f"{fault}: {number:,}"
