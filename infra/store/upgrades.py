"""Upgrade of a store of an earlier schema version, which can be killed at any moment.

The steps work on a copy, which takes the file's place when it is whole; the file as it was keeps
another name beside it. Nobody has it open meanwhile.
"""

import logging
import re
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import duckdb

from infra.disk import OTHER_STORE, free_bytes, space_on
from infra.errors import DiskFullError, StoreError, StoreVersionError
from infra.settings import StoreSettings
from infra.store.connections import alone, opened_alone
from infra.store.copies import copy_whole, replacement
from infra.store.full_ids import lift_vectors
from infra.store.migrations import SCHEMA_VERSION, UPGRADES

_COPY = re.compile(r"cosqa-v\d+-\d{8}T\d{12}Z\.duckdb")
_MB = 2**20

_log = logging.getLogger(__name__)


class Identity(NamedTuple):
    """What a store says of itself: the version of its schema, and its random id."""

    version: int
    store_id: str


def has_tables(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a DuckDB file has any table."""
    return connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone() is not None


def identity_in(connection: duckdb.DuckDBPyConnection, file: Path) -> Identity:
    """Return the identity of a store that this program can read or upgrade.

    Raises:
        StoreError: The file is no store of this program.
        StoreVersionError: Its version is none that this program knows.
    """
    try:
        row = connection.execute("SELECT schema_version, store_id FROM meta").fetchone()
    except duckdb.CatalogException:
        row = None
    if row is None:
        raise StoreError(
            f"{file} is a DuckDB file but not a store of this program; choose another folder "
            "with --store"
        )
    version, store_id = row
    if version != SCHEMA_VERSION and version not in UPGRADES:
        raise StoreVersionError(
            f"{file} has schema version {version}, this program reads version {SCHEMA_VERSION}; "
            "use the release that made it, or choose another folder with --store (cached replies "
            "in its 'replies' folder can be copied there and are not paid again)"
        )
    return Identity(int(version), str(store_id))


def identity_of(settings: StoreSettings) -> Identity:
    """Return the identity of the store in a folder, which is opened and not changed."""
    with alone(settings), opened_alone(settings) as connection:
        return identity_in(connection, settings.database)


def upgrade(settings: StoreSettings, report: Callable[[str], object] = lambda _: None) -> Identity:
    """Bring the store in a folder to this program's schema version; return its identity.

    The file as it was stays in the folder, named by its version and the time.

    Args:
        settings: The store.
        report: Called with a sentence before each step.

    Raises:
        DiskFullError: The disk has no room for the copy and the upgrade; nothing was changed.
        StoreLockedError: Another process has the file open.
        StoreVersionError: Its version is none that this program knows; nothing was changed.
    """
    with space_on(settings.folder, OTHER_STORE), alone(settings):
        with opened_alone(settings) as connection:
            identity = identity_in(connection, settings.database)
        if identity.version == SCHEMA_VERSION:
            return identity
        _require_room(settings)
        kept = settings.folder / f"cosqa-v{identity.version}-{_now()}.duckdb"
        with replacement(settings.database, keep_as=kept) as copy:
            report("copying the database")
            copy_whole(settings.database, copy)
            _run_steps(copy, identity.version, report)
            report("ids of vectors")
            with closing(duckdb.connect(str(copy), read_only=True)) as connection:
                lift_vectors(connection, settings.vectors)
            report("putting it in place")
        for superseded in kept_copies(settings)[: -settings.upgrade_copies]:
            superseded.unlink(missing_ok=True)
        _log.warning(
            "the store %s was upgraded from schema version %s to %s; as it was it is kept in %s",
            settings.folder, identity.version, SCHEMA_VERSION, kept.name,
        )  # fmt: skip
    return Identity(SCHEMA_VERSION, identity.store_id)


def kept_copies(settings: StoreSettings) -> list[Path]:
    """Return the copies that upgrades have kept, oldest first."""
    found = [path for path in settings.folder.glob("cosqa-v*") if _COPY.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.stem.rpartition("-")[2])


def _run_steps(file: Path, version: int, report: Callable[[str], object]) -> None:
    """Upgrade a file, each step in a transaction: DuckDB cannot do all changes in one."""
    with closing(duckdb.connect(str(file))) as connection:
        connection.execute("SET enable_progress_bar = false")  # it writes to the terminal
        for step in range(version, SCHEMA_VERSION):
            report(f"version {step} to {step + 1}")
            connection.begin()
            connection.execute(UPGRADES[step])
            connection.execute("UPDATE meta SET schema_version = ?", [step + 1])
            connection.commit()
        connection.execute("CHECKPOINT")  # at close it would fail without a word


def _require_room(settings: StoreSettings) -> None:
    """Refuse a disk without room for the copy and for what the steps write."""
    size, free = settings.database.stat().st_size, free_bytes(settings.folder)
    if free < 2 * size:
        raise DiskFullError(
            f"the store {settings.folder} is of an earlier version, and its upgrade takes about "
            f"{2 * size / _MB:,.0f} MiB where {free / _MB:,.0f} MiB are free: nothing was changed; "
            f"free some space or {OTHER_STORE}, then run the same command again"
        )


def _now() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z"
