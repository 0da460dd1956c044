"""Laws of the check: a whole store has no fault, and each damage is found and said.

Covers `infra.store.maintenance`.
"""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from infra.errors import StoreLockedError, StoreVersionError
from infra.journal import connect
from infra.store import Database
from infra.store.database_file import DatabaseFile
from infra.store.maintenance import faults_of, row_counts
from tests.fakes.stores import whole_store


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return whole_store(tmp_path / "store")


def test_a_whole_store_has_no_fault(database: Database) -> None:
    assert list(faults_of(database.settings)) == []
    assert row_counts(database.settings)["annotations"] == 6


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM llm_calls WHERE role = 'writer'", "another number of llm_calls"),
        ("INSERT INTO executions SELECT * FROM executions LIMIT 1", "another number of executions"),
        ("INSERT INTO annotations SELECT * FROM annotations LIMIT 1", "more than once"),
        ("DELETE FROM annotations WHERE path = 'unclear_passed'", "rows of executions that name"),
        ("DELETE FROM queries", "rows of candidates that name one that queries lacks"),
        ("DELETE FROM codes", "rows of annotations that name one that codes lacks"),
        ("DELETE FROM recipes", "rows of annotations that name one that recipes lacks"),
        ("DELETE FROM searches", "rows of candidates that name one that searches lacks"),
    ],
)
def test_damage_in_the_database_is_found(database: Database, damage: str, said: str) -> None:
    with database.transaction() as tx:
        tx.execute(damage)
    found = list(faults_of(database.settings))
    assert any(said in fault for fault in found), found


def lose_vectors(database: Database) -> str:
    next(database.settings.vectors.rglob("*.arrow*")).unlink()
    return "is missing"


def cut_vectors(database: Database) -> str:
    file = next(path for path in database.settings.vectors.rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes()[:100])
    return "cannot be read"


def damage_spent(database: Database) -> str:
    with closing(connect(database.settings.journal)) as connection:
        connection.execute("UPDATE spent SET usd = 0.0")
    return "what was spent on openai/m is not what was written"


def damage_journal(database: Database) -> str:
    database.settings.journal.write_bytes(b"no database" * 1_000)
    return "file is not a database"


def empty_journal(database: Database) -> str:
    database.settings.journal.write_bytes(b"")
    return "it has 0 bytes"


@pytest.mark.parametrize(
    "damage", [lose_vectors, cut_vectors, damage_spent, damage_journal, empty_journal]
)
def test_damage_in_files_is_found(database: Database, damage: Callable[[Database], str]) -> None:
    said = damage(database)
    [fault] = faults_of(database.settings)
    assert said in fault


def test_a_store_that_another_process_holds_is_not_called_damaged(database: Database) -> None:
    hurried = database.settings.model_copy(update={"lock_timeout_s": 0.0})
    command = "import sys, duckdb; held = duckdb.connect(sys.argv[1]); print(flush=True); input()"
    arguments = [sys.executable, "-c", command, str(hurried.database)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StoreLockedError, match="locked by another process"):
            list(faults_of(hurried))
        other.communicate(b"\n")


def test_a_store_of_another_release_is_not_called_damaged(database: Database) -> None:
    with DatabaseFile(database.settings).connected() as connection:
        connection.execute("UPDATE meta SET schema_version = 999")
    with pytest.raises(StoreVersionError, match="use the release that made it"):
        list(faults_of(database.settings))
