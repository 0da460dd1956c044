"""Laws of a damaged database: it is said, with what to do, or the store reads as before."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from infra.errors import StoreError
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.maintenance import faults_of, restore
from tests.fakes.stores import whole_store

Reading = dict[str, object]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreSettings:
    return whole_store(tmp_path_factory.mktemp("damage") / "store").settings


def read_all(settings: StoreSettings) -> Reading:
    database = open_database(settings)
    with database.transaction() as tx:
        return {
            table: tx.rows(f"SELECT bit_xor(hash(t)), count(*) FROM {table} AS t")
            for (table,) in tx.rows("SHOW TABLES")
        }


def flip(content: bytearray, chance: random.Random) -> None:
    place = chance.choice((chance.randrange(len(content)), chance.randrange(12_288)))
    content[place] ^= 1 << chance.randrange(8)


def blot(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) - 4_096)
    content[place : place + 4_096] = chance.randbytes(4_096)


def cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


@pytest.mark.parametrize("damage", [flip, blot, cut])
@pytest.mark.parametrize(
    "times", [8, pytest.param(100, marks=[pytest.mark.nightly, pytest.mark.slow])]
)
def test_a_damaged_file_is_said_or_reads_as_before(
    store: StoreSettings, damage: Callable[[bytearray, random.Random], None], times: int
) -> None:
    whole, chance = store.database.read_bytes(), random.Random(times)
    before = read_all(store)
    try:
        for _ in range(times):
            content = bytearray(whole)
            damage(content, chance)
            store.database.write_bytes(content)
            try:
                assert read_all(store) == before
            except StoreError as error:
                message = str(error)
                is_foreign = "not a store of this program" in message  # cut to nothing
                assert is_foreign or ("store check" in message and "store restore" in message)
    finally:
        store.database.write_bytes(whole)


LOST = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("CREATE TABLE more AS SELECT 1 AS one")
os._exit(0)
"""


@pytest.mark.parametrize("content", [b"garbage" * 50, bytes(512), b"\x64\x00\x63" * 9])
def test_a_log_that_is_none_is_said_before_duckdb_drops_it(tmp_path: Path, content: bytes) -> None:
    settings = StoreSettings(folder=tmp_path)
    open_database(settings)
    log = tmp_path / f"{settings.database.name}.wal"
    log.write_bytes(content)
    with pytest.raises(StoreError, match=r"\.wal is damaged"):
        open_database(settings)
    [found] = faults_of(settings)
    assert ".wal is damaged" in found
    assert log.read_bytes() == content
    log.unlink()
    open_database(settings)


@pytest.mark.parametrize("length", [None, 0, 1, 2, 40])
def test_the_log_of_a_killed_process_is_taken_over(tmp_path: Path, length: int | None) -> None:
    settings = StoreSettings(folder=tmp_path)
    database = open_database(settings)
    subprocess.run([sys.executable, "-c", LOST, str(settings.database)], check=True)
    log = tmp_path / f"{settings.database.name}.wal"
    os.truncate(log, log.stat().st_size if length is None else length)
    with database.transaction() as tx:
        kept = tx.count("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'more'")
    assert kept == (length is None)


def test_errors_that_are_no_damage_stay_as_they_are(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    for statement, kind in {
        "INSERT INTO meta VALUES (NULL, NULL)": duckdb.ConstraintException,
        "SELECT * FROM nothing": duckdb.CatalogException,
        "SELECT 'x'::INTEGER": duckdb.ConversionException,
    }.items():
        with pytest.raises(kind), database.transaction() as tx:
            tx.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        "DROP TABLE meta; CREATE VIEW meta AS SELECT 15, content FROM read_text('/etc/hostname')",
        "CREATE VIEW more AS SELECT 1 AS a",
        "CREATE MACRO lower(a) AS (SELECT content FROM read_text('/etc/hostname'))",
        "CREATE MACRO files() AS TABLE SELECT * FROM read_text('/etc/hostname')",
    ],
)
def test_a_store_with_views_or_functions_of_others_is_refused(
    statements: str, tmp_path: Path
) -> None:
    database = whole_store(tmp_path / "store")
    with duckdb.connect(str(database.settings.database)) as connection:
        connection.execute(statements)
    with pytest.raises(StoreError, match="is no table, and may read other files"):
        open_database(database.settings)
    with pytest.raises(StoreError, match="is no table, and may read other files"):
        restore(StoreSettings(folder=tmp_path / "other"), database.settings.folder)
