"""``cosqa store``: what a person types, and what is printed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from infra.errors import StoreBusyError, StoreError
from infra.settings import StoreSettings
from infra.store import Database
from infra.store.runs import writer_lease
from tests.fakes.stores import rows_of, whole_store


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return whole_store(tmp_path / "store")


def run(settings: StoreSettings, *words: str, status: int = 0) -> str:
    """Run `cosqa store`; return what it printed."""
    done = CliRunner().invoke(app, ["store", *words, "--store", str(settings.folder)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.stdout


def test_a_whole_store_passes_its_checks(database: Database) -> None:
    assert "faults: 0, notes: 2" in run(database.settings, "check"), "its exports are not there"
    assert "faults: 0" in run(database.settings, "check", "--quick")


def test_a_fault_is_said_with_what_to_do_and_the_exit_status_is_1(database: Database) -> None:
    with database.transaction() as tx:
        tx.execute("INSERT INTO annotations SELECT * FROM annotations LIMIT 1")
    printed = run(database.settings, "check", status=1)
    assert "FAULT" in printed
    assert "cosqa store restore" in printed
    assert "faults: 1" in printed


def test_a_backup_is_made_and_put_back(database: Database, tmp_path: Path) -> None:
    settings, folder = database.settings, str(tmp_path / "backup")
    rows = rows_of(settings.database)
    assert "found whole" in run(settings, "backup", folder)
    with database.transaction() as tx:
        tx.execute("DELETE FROM annotations")
    with pytest.raises(StoreError, match="--force"):
        run(settings, "restore", folder)
    assert "store-before-" in run(settings, "restore", folder, "--force")
    assert rows_of(settings.database) == rows


def test_pruning_removes_what_it_has_shown_and_only_if_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSQA_RETENTION__OUTPUTS_DAYS", "0")
    monkeypatch.setenv("COSQA_RETENTION__PROTECT", json.dumps([]))
    with database.transaction() as tx:
        tx.execute("UPDATE executions SET stdout = 'printed'")
    assert "prune --yes" in run(database.settings, "prune")
    with database.transaction() as tx:
        assert tx.count("SELECT count(*) FROM executions WHERE stdout <> ''")
    assert "Removed" in run(database.settings, "prune", "--yes")
    assert "Nothing is old enough" in run(database.settings, "prune")
    with database.transaction() as tx:
        assert not tx.count("SELECT count(*) FROM executions WHERE stdout <> ''")


def test_a_store_that_a_run_writes_to_is_left_alone(database: Database) -> None:
    with (
        writer_lease(database.settings, "the nightly run"),
        pytest.raises(StoreBusyError, match="the nightly run"),
    ):
        run(database.settings, "prune", "--yes")


@pytest.mark.parametrize("word", ["check", "prune"])
def test_a_folder_without_a_store_is_refused_and_stays_empty(tmp_path: Path, word: str) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        run(StoreSettings(folder=tmp_path / "none"), word)
    with pytest.raises(StoreError, match="there is no store"):
        run(StoreSettings(folder=tmp_path / "none"), "backup", str(tmp_path / "backup"))
    assert list(tmp_path.iterdir()) == []
