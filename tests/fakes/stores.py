"""Stores, each a copy of one that is made once a process; and what stands in them."""

import atexit
import json
import shutil
from collections.abc import Callable, Hashable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import duckdb
import numpy as np

from agents.llm.ledger import JournalLedger
from infra.identity import RecipeId, SearchId
from infra.journal import Journal
from infra.records import Candidate, Support
from infra.settings import LanguageModelSettings, StoreSettings
from infra.store import Database, open_database, vectors
from infra.store.labels import Coverage, CurrentLabels
from infra.store.vectors import Kind, VectorFile, Vectors, write_vectors
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


def add_file(
    database: Database,
    encoder_key: str,
    kind: Kind,
    file: str,
    item_ids: Sequence[str],
    rows: Vectors,
) -> None:
    """Write (n,) ids and (n, d) vectors to a file below the folder of vectors, and record it."""
    write_vectors(database.settings.vectors / file, item_ids, rows)
    vectors.record_files(database, encoder_key, kind, {file: len(rows)})


def read_vectors(file: Path) -> tuple[list[str], Vectors]:
    """Return the (n,) ids and (n, d) vectors of a file."""
    opened = VectorFile(file)
    return opened.ids.to_pylist(), opened.rows


def load_candidates(database: Database, search_id: SearchId, collection: str) -> list[Candidate]:
    """Return a search's candidates for a collection's queries, best first."""
    rows = database.rows(
        "SELECT query_id, code_id, rank, similarity, by_encoder FROM candidates "
        "JOIN (SELECT query_id, position FROM collection_queries WHERE collection = ?) "
        "USING (query_id) WHERE search_id = ? ORDER BY position, rank",
        [collection, search_id],
    )
    return [
        Candidate(query_id=query, code_id=code, rank=rank, similarity=similarity,
                  by_encoder=json.loads(by_encoder))
        for query, code, rank, similarity, by_encoder in rows
    ]  # fmt: skip


_MET = ("arbiter", "box", "coder", "screener")
_WAYS = [",".join(some) for size in range(len(_MET) + 1) for some in combinations(_MET, size)]


def labels_by(
    search: str,
    *sets: Sequence[str],
    support: Sequence[Support] = ("screened", "valid_oracle", "void_oracle", "undecided"),
    collection: str = "c",
) -> CurrentLabels:
    """Return the labels by sets of labelling rounds, the first of which is in use."""
    recipes = tuple(tuple(RecipeId(recipe_id) for recipe_id in rounds) for rounds in sets)
    covered = tuple(
        Coverage(recipe_id, met, number, place)
        for number, rounds in enumerate(recipes)
        for place, recipe_id in enumerate(rounds)
        for met in _WAYS
    )
    return CurrentLabels(
        collection=collection,
        search_ids=(SearchId(search),),
        sets=recipes,
        covered=covered,
        support=tuple(support),
    )
