"""Laws of checks: a whole store has no fault, and each damage is found and said.

Covers `infra.store.check`, `infra.store.check`.
"""

import time
from collections.abc import Callable
from contextlib import closing
from os import utime
from pathlib import Path

import duckdb
import pytest

from infra.errors import DiskFullError, StoreLockedError, StoreVersionError
from infra.settings import StoreSettings
from infra.sqlite import connect
from infra.store import Database, check
from infra.store.check import Finding, check_database, check_files, leftovers
from infra.store.database import alone, connected
from tests.fakes.stores import whole_store


def found_in(database: Database, *, thorough: bool = True) -> list[Finding]:
    settings = database.settings
    found = list(check_database(settings, thorough=thorough))
    if not any(item.problem for item in found):
        found += check_files(settings, thorough=thorough)
    return [item for item in found if item.problem]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return whole_store(tmp_path / "store")


def test_a_whole_store_has_no_fault(database: Database) -> None:
    assert found_in(database) == []
    assert found_in(database, thorough=False) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(
            "DELETE FROM llm_calls WHERE role = 'arbiter'", "evidence", marks=pytest.mark.exhaustive
        ),
        ("DELETE FROM executions", "evidence"),
        pytest.param(
            "DELETE FROM llm_calls WHERE role = 'writer'",
            "llm_calls of each annotation",
            marks=pytest.mark.exhaustive,
        ),
        ("INSERT INTO annotations SELECT * FROM annotations LIMIT 1", "annotations has each row"),
        pytest.param(
            "INSERT INTO llm_calls SELECT * FROM llm_calls LIMIT 1",
            "llm_calls has each row",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "INSERT INTO executions SELECT * FROM executions LIMIT 1",
            "executions has each row",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "DELETE FROM annotations WHERE path = 'unclear_passed'",
            "executions belong",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param("DELETE FROM queries", "queries of candidates", marks=pytest.mark.exhaustive),
        pytest.param("DELETE FROM codes", "codes of annotations", marks=pytest.mark.exhaustive),
        pytest.param("DELETE FROM recipes", "recipes of annotations", marks=pytest.mark.exhaustive),
        pytest.param(
            "DELETE FROM searches", "searches of candidates", marks=pytest.mark.exhaustive
        ),
        pytest.param(
            "ALTER TABLE plans ADD COLUMN more INTEGER",
            "plans has more INTEGER",
            marks=pytest.mark.exhaustive,
        ),
        ("DROP TABLE audits", "audits lacks"),
    ],
)
def test_damage_in_the_database_is_found(database: Database, damage: str, said: str) -> None:
    with database.transaction() as tx:
        tx.execute(damage)
    found = [item for item in check_database(database.settings, thorough=True) if item.problem]
    assert any(said in f"{item.check}: {item.problem}" for item in found), found
    assert all(item.is_fault and item.advice for item in found)


def test_a_damaged_block_is_found_by_reading_it(database: Database) -> None:
    file = database.settings.database
    content = file.read_bytes()  # blocks that are no longer in use have the text, too
    file.write_bytes(content.replace(b"multiply_matrices", b"Multiply_matrices"))
    found = [item for item in check_database(database.settings, thorough=True) if item.problem]
    assert found
    assert "restore" in found[0].advice


def lose_vectors(database: Database) -> str:
    next(database.settings.vectors.rglob("*.arrow*")).unlink()
    return "is missing"


def cut_vectors(database: Database) -> str:
    file = next(path for path in database.settings.vectors.rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes()[:100])
    return "cannot be read"


def damage_reply(database: Database) -> str:
    with closing(connect(database.settings.journal)) as connection:
        connection.execute("UPDATE replies SET content = x'00' WHERE number = 1")
    return "1 of"


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
    "damage",
    [lose_vectors, cut_vectors, damage_reply, damage_spent, damage_journal, empty_journal],
)
def test_damage_in_files_is_found(database: Database, damage: Callable[[Database], str]) -> None:
    said = damage(database)
    [finding] = found_in(database)
    assert said in finding.problem
    assert finding.is_fault
    assert finding.advice


@pytest.mark.parametrize("file", ["vectors/.file.arrow.123.partial", "batch-ab-0.jsonl"])
def test_what_killed_runs_left_is_a_note_once_it_is_old(database: Database, file: str) -> None:
    left = database.settings.folder / file
    left.write_text("half")
    assert leftovers(database.settings) == []
    utime(left, (time.time() - 90_000,) * 2)
    assert leftovers(database.settings) == [left]
    [finding] = found_in(database)
    assert not finding.is_fault
    assert str(left) in finding.problem


def test_a_store_that_another_process_holds_is_not_called_damaged(database: Database) -> None:
    hurried = database.settings.model_copy(update={"lock_timeout_s": 0.0})
    with alone(hurried), pytest.raises(StoreLockedError, match="locked by another process"):
        list(check_database(hurried, thorough=True))


def test_a_store_that_is_taken_by_another_process_between_two_checks_is_not_called_damaged(
    database: Database,
) -> None:
    hurried = database.settings.model_copy(update={"lock_timeout_s": 0.0})
    findings = check_database(hurried, thorough=True)
    assert next(findings).check == "the database opens"
    assert not next(findings).problem, "the schema"
    with alone(hurried), pytest.raises(StoreLockedError, match="locked by another process"):
        next(findings)


def test_a_store_of_a_later_release_is_not_called_damaged(database: Database) -> None:
    with connected(database.settings) as connection:
        connection.execute("UPDATE meta SET schema_version = 999")
    with pytest.raises(StoreVersionError, match="use the release that made it"):
        list(check_database(database.settings, thorough=True))


def test_a_store_on_a_full_disk_is_not_called_damaged(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: StoreSettings) -> None:
        raise duckdb.IOException("Could not write file: No space left on device")

    monkeypatch.setattr(check, "connected", full)
    with pytest.raises(DiskFullError, match="free some space"):
        list(check_database(database.settings, thorough=True))
