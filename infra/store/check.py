"""The check of a store: schema version, counts and references."""

from collections.abc import Iterator
from pathlib import Path

from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.journal import fault_of
from infra.settings import StoreSettings
from infra.store.database import Transaction
from infra.store.database_file import DatabaseFile, require_version
from infra.store.vectors import VectorFile

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
        if fault := _fault_of_vectors(settings.vectors / str(file), int(items)):
            yield f"{settings.vectors / str(file)} {fault}"
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


def _fault_of_vectors(file: Path, items: int) -> str:
    if not file.exists():
        return "is missing"
    try:
        opened = VectorFile(file)
        found = len(opened.ids), opened.rows.shape[0]
    except StoreError as error:
        return f"cannot be read: {error}"
    return "" if found == (items, items) else f"has {found[1]:,} vectors instead of {items:,}"
