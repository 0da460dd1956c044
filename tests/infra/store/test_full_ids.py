"""Laws of the step to ids of 128 bits: every table and file of vectors names the same items.

Covers `infra.store.full_ids`.
"""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.identity import former_id
from infra.records import code_id_of, query_id_of
from infra.settings import StoreSettings
from infra.store import Database, open_database, vectors
from infra.store.checks import check_database
from infra.store.file_checks import check_files
from infra.store.vector_files import VectorFile, read_vectors, write_vectors
from tests.fakes.stores import rows_of, store_of

KILLED_BEFORE = """
import os, signal, sys
from pathlib import Path
from infra.settings import StoreSettings
from infra.store.upgrades import upgrade
def report(step):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
upgrade(StoreSettings(folder=Path(sys.argv[1])), report)
"""


def store_with_vectors(folder: Path) -> StoreSettings:
    """Make a store of version 9 with its files of vectors, whose ids have 20 digits."""
    settings = store_of(9, folder)
    with closing(duckdb.connect(str(settings.database))) as connection:
        files = connection.execute("SELECT kind, file, dimension FROM vector_files").fetchall()
        ids = {
            kind: [
                row[0] for row in connection.execute(f"SELECT {kind}_id FROM {table}").fetchall()
            ]
            for kind, table in (("query", "queries"), ("code", "codes"))
        }
    for kind, file, dimension in files:
        rows = np.zeros((len(ids[kind]), dimension), np.float32)
        rows[np.arange(len(rows)), np.arange(len(rows))] = 1  # each of its own, of length 1
        write_vectors(settings.vectors / file, ids[kind], rows)
    return settings


def faults(database: Database) -> list[str]:
    found = [
        *check_database(database.settings, thorough=True),
        *check_files(database.settings, thorough=True),
    ]
    return [item.problem for item in found if item.problem and item.is_fault]


def vectors_by_item(database: Database) -> dict[str, list[float]]:
    """Return id → vector of all items that the store finds in its files."""
    found: dict[str, list[float]] = {}
    with database.transaction() as tx:
        encoders = tx.rows("SELECT encoder_key, kind FROM vector_files")
    for key, kind in encoders:
        which: vectors.Kind = "query" if kind == "query" else "code"
        ids = vectors.member_ids(database, ["jsonl"], which)
        places = vectors.locate(database, str(key), which, ids)
        for item, file, row in zip(ids.to_pylist(), places.file, places.row, strict=True):
            if file >= 0:
                rows = VectorFile(database.settings.vectors / places.files[file]).rows
                found[item] = rows[row].tolist()
    return found


def test_every_id_is_that_of_its_text_and_the_store_is_whole(tmp_path: Path) -> None:
    settings = store_with_vectors(tmp_path)
    before = rows_of(settings.database)
    database = open_database(settings)
    assert faults(database) == []
    after = rows_of(settings.database)
    for table, id_of in (("queries", query_id_of), ("codes", code_id_of)):
        found: dict[str, str] = dict(after[table][1])
        assert found == {id_of(text): text for text in found.values()}
        assert {former_id(item) for item in found} == {item for item, _ in before[table][1]}
    for table, (columns, rows) in after.items():
        for name in {"query_id", "code_id"} & set(columns) if table != "scores" else ():
            place = columns.index(name)
            assert all(len(row[place]) == 33 for row in rows), table
    for kept in ("recipes", "recipe_uses", "benchmarks", "exports", "evaluations", "searches"):
        assert after[kept] == before[kept]


def test_no_vector_is_lost_and_each_is_still_that_of_its_text(tmp_path: Path) -> None:
    settings = store_with_vectors(tmp_path)
    before = {
        item: rows[row].tolist()
        for file in settings.vectors.rglob("*.arrow")
        for ids, rows in [read_vectors(file)]
        for row, item in enumerate(ids)
    }
    after = vectors_by_item(open_database(settings))
    assert len(after) == 12
    assert {former_id(item): vector for item, vector in after.items()} == before


def test_vectors_of_killed_runs_and_of_old_files_are_lifted_and_others_left_as_they_are(
    tmp_path: Path,
) -> None:
    settings = store_with_vectors(tmp_path)
    [code] = settings.vectors.rglob("code-*.arrow")
    ids, rows = read_vectors(code)
    part = code.parent / "parts" / code.name
    write_vectors(part, ["cstrange", *ids[1:]], rows)
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])
    old = code.with_name("code-of-old.parquet")
    pq.write_table(pa.table({"item_id": pa.array(ids, pa.string()), "vector": column}), old)
    torn = code.with_name("code-torn.arrow")
    torn.write_bytes(code.read_bytes()[:100])
    open_database(settings)
    full = read_vectors(code)[0]
    assert [former_id(item) for item in full] == ids
    assert {len(item) for item in full} == {33}
    assert read_vectors(part)[0] == ["cstrange", *full[1:]]
    assert read_vectors(old)[0] == full
    assert np.array_equal(read_vectors(old)[1], rows)
    assert len(torn.read_bytes()) == 100
    written = {file: file.stat().st_mtime_ns for file in settings.vectors.rglob("*.arrow")}
    open_database(settings)
    assert {file: file.stat().st_mtime_ns for file in written} == written


def test_an_id_that_is_not_of_its_text_stays_as_it_is(tmp_path: Path) -> None:
    settings = store_with_vectors(tmp_path)
    with closing(duckdb.connect(str(settings.database))) as connection:
        connection.execute("INSERT INTO codes VALUES ('c00000000000000000000', 'x = 1')")
        connection.execute("INSERT INTO codes VALUES ('c', 'y = 1')")
    database = open_database(settings)
    with database.transaction() as tx:
        kept = tx.rows("SELECT code_id FROM codes WHERE text IN ('x = 1', 'y = 1') ORDER BY ALL")
    assert kept == [("c",), ("c00000000000000000000",)]
    assert faults(database) == []


def test_ids_of_any_text_are_those_that_the_program_computes(tmp_path: Path) -> None:
    texts = ["é\U0001f600\u2028 '\\'", "x" * 70_000, "a\n\n\tb  c", "%s {} \x7f"]
    settings = store_of(9, tmp_path)
    with closing(duckdb.connect(str(settings.database))) as connection:
        former = [[former_id(code_id_of(text)), text] for text in texts]
        connection.executemany("INSERT INTO codes VALUES (?, ?)", former)
    open_database(settings)
    rows = rows_of(settings.database)["codes"][1]
    assert {(code_id_of(text), text) for text in texts} <= set(rows)


@pytest.mark.parametrize("step", ["ids of vectors", "putting it in place"])
def test_a_kill_around_the_vectors_leaves_the_old_database_and_the_next_run_ends_it(
    step: str, tmp_path: Path
) -> None:
    settings = store_with_vectors(tmp_path)
    with closing(duckdb.connect(str(settings.database))) as connection:
        connection.execute("CHECKPOINT")
    before = settings.database.read_bytes()
    command = [sys.executable, "-c", KILLED_BEFORE, str(settings.folder), step]
    ended = subprocess.run(command, capture_output=True, check=False, env=os.environ)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert settings.database.read_bytes() == before
    database = open_database(settings)
    assert faults(database) == []
    assert len(vectors_by_item(database)) == 12
