"""What a store says of itself: the version of its schema, and which store it is."""

from pathlib import Path
from typing import NamedTuple

import duckdb

from infra.errors import StoreError, StoreVersionError
from infra.settings import StoreSettings
from infra.store.connections import alone, opened_alone

SCHEMA_VERSION = 12  # of `schema.sql`


class Identity(NamedTuple):
    """What a store says of itself: the version of its schema, and its random id."""

    version: int
    store_id: str


def has_tables(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a DuckDB file has any table."""
    return connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone() is not None


def identity_in(connection: duckdb.DuckDBPyConnection, file: Path) -> Identity:
    """Return the identity of a store that this program can read.

    Raises:
        StoreError: The file is no store of this program.
        StoreVersionError: It has another version.
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
    if version != SCHEMA_VERSION:
        raise StoreVersionError(
            f"{file} has schema version {version}, this program reads version {SCHEMA_VERSION}; "
            "collect again into another folder with --store, or use the release that made it "
            "(copy its journal.sqlite, or its replies/replies.sqlite, there first: replies are not "
            "paid for again)"
        )
    return Identity(int(version), str(store_id))


def identity_of(settings: StoreSettings) -> Identity:
    """Return the identity of the store in a folder, which is opened and not changed."""
    with alone(settings), opened_alone(settings) as connection:
        return identity_in(connection, settings.database)
