"""The layout of a store's tables, to see whether a file has that of ``schema.sql``."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import duckdb

SCHEMA = Path(__file__).with_name("schema.sql")

_COLUMNS = (
    "SELECT table_name, column_name || ' ' || data_type || CASE WHEN is_nullable THEN '' "
    "ELSE ' NOT NULL' END || coalesce(' DEFAULT ' || column_default, '') FROM duckdb_columns() "
    "WHERE NOT internal AND database_name = current_database()"
)
_CONSTRAINTS = (
    "SELECT table_name, constraint_text FROM duckdb_constraints() "
    "WHERE constraint_type <> 'NOT NULL' AND database_name = current_database()"
)
_KEYS = (
    "SELECT table_name, constraint_column_names FROM duckdb_constraints() "
    "WHERE constraint_type = 'PRIMARY KEY' AND database_name = current_database()"
)
# `infra.store.annotation_writer` and `infra.store.behaviours` keep these, and no index.
_KEPT_BY_PROGRAM = {
    "annotations": ("query_id", "code_id", "recipe_id"),
    "llm_calls": ("query_id", "code_id", "recipe_id", "ordinal"),
    "executions": ("query_id", "code_id", "recipe_id", "ordinal"),
    "query_behaviours": ("collection", "comparison"),
    "code_behaviours": ("collection", "query_id", "code_id", "recipe_id"),
}


class Layout(NamedTuple):
    """What tables have: (table, definition of a column or constraint)."""

    parts: frozenset[tuple[str, str]]

    def differences(self, other: "Layout") -> Iterator[str]:
        """Yield what another layout has and this one has not, and the reverse, in words."""
        for what, found in (("has", other.parts - self.parts), ("lacks", self.parts - other.parts)):
            for table, part in sorted(found):
                yield f"{table} {what} {part}"


def layout_of(connection: duckdb.DuckDBPyConnection) -> Layout:
    """Return the layout of the file that a connection leads to."""
    rows = connection.execute(_COLUMNS).fetchall() + connection.execute(_CONSTRAINTS).fetchall()
    return Layout(frozenset((str(table), str(part)) for table, part in rows))


def layout_of_schema() -> Layout:
    """Return the layout that a new store has."""
    with closing(_new_store()) as connection:
        return layout_of(connection)


def keys_of_tables() -> dict[str, tuple[str, ...]]:
    """Return table → columns of which no two rows may have the same values."""
    with closing(_new_store()) as connection:
        rows = connection.execute(_KEYS).fetchall()
    return {str(table): tuple(columns) for table, columns in rows} | _KEPT_BY_PROGRAM


def _new_store() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    connection.execute(SCHEMA.read_text(encoding="utf-8"))
    return connection
