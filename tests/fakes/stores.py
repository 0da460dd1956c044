"""Stores, each a copy of one that is made once a process."""

import atexit
import shutil
from collections.abc import Callable, Hashable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import duckdb
import numpy as np

from agents.llm.ledger import JournalLedger
from infra.journal import Journal
from infra.settings import LanguageModelSettings, StoreSettings
from infra.store import Database, open_database
from infra.store.vectors import write_vectors
from tests.fakes.journals import keep, pack, spend

ROWS = Path(__file__).with_name("whole_store")  # a file of JSON lines for each table
Rows = dict[str, tuple[list[str], list[tuple[Any, ...]]]]


def rows_of(file: Path) -> Rows:
    """Return table → columns and rows."""
    with closing(duckdb.connect(str(file))) as connection:
        tables = [str(row[0]) for row in connection.execute("SHOW TABLES").fetchall()]
        found: Rows = {}
        for table in tables:
            result = connection.execute(f"SELECT * FROM {table} ORDER BY ALL")
            found[table] = ([column[0] for column in result.description or ()], result.fetchall())
    return found


def whole_store(folder: Path) -> Database:
    """Make a store of this version with six judged pairs, vectors, and a journal."""
    return store_like(_fill, folder, lock_timeout_s=5.0)


def empty_store(folder: Path, **told: Any) -> Database:
    """Make a store without a row, with these settings beside its folder; there must be none."""
    assert not StoreSettings(folder=folder).database.exists()
    return store_like(_leave_empty, folder, **told)


def store_like(
    fill: Callable[..., object], folder: Path, *given: Hashable, **told: Any
) -> Database:
    """Make a store with what ``fill(database, *given)`` adds, which is called once a process."""
    template = _template(fill, given)
    shutil.copytree(template.settings.folder, folder, dirs_exist_ok=True)
    return replace(template, settings=StoreSettings(folder=folder, **told))


@cache
def _template(fill: Callable[..., object], given: tuple[Hashable, ...]) -> Database:
    folder = Path(mkdtemp(prefix="store-like-"))
    atexit.register(shutil.rmtree, folder)
    database = open_database(StoreSettings(folder=folder))
    fill(database, *given)
    return database


def _leave_empty(database: Database) -> None:
    """Add nothing."""


def _fill(database: Database) -> None:
    settings = database.settings
    with database.transaction() as tx:
        for file in sorted(ROWS.glob("*.json")):
            layout = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?"
            columns = {str(name): str(kind) for name, kind in tx.rows(layout, [file.stem])}
            tx.execute(
                f"INSERT INTO {file.stem} BY NAME SELECT * FROM read_json('{file}', "
                f"format = 'newline_delimited', columns = {columns})"
            )
        files = tx.rows("SELECT kind, file FROM vector_files")
        ids = {
            kind: [str(item) for (item,) in tx.rows(f"SELECT {kind}_id FROM collection_{table}")]
            for kind, table in (("query", "queries"), ("code", "codes"))
        }
        keys = tx.rows("SELECT DISTINCT prompt_digest FROM llm_calls ORDER BY ALL")
    for kind, name in files:
        rows = np.ones((6, 384), np.float32)
        write_vectors(settings.vectors / str(name), ids[str(kind)], rows)
    journal = Journal(settings.journal)
    for (key,) in keys:
        keep(journal, str(key), b'{"text": "as scripted"}')
    keep(journal, "ab", b'{"text": "of a run that was killed"}').result()
    spend(JournalLedger(journal, LanguageModelSettings(model="openai/m")), 100, 1.0)
    journal.close()
    pack(settings.journal)
