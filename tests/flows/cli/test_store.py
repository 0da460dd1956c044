"""``cosqa store``: what a person types, and what is printed.

Covers `flows.cli.maintenance`.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from infra.errors import StoreError
from infra.settings import StoreSettings
from infra.store import Database
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


def test_a_whole_store_passes_its_check(database: Database) -> None:
    printed = run(database.settings, "check")
    assert "has no fault" in printed
    assert "6 annotations" in printed


def test_a_fault_is_said_with_what_to_do_and_the_exit_status_is_1(database: Database) -> None:
    with database.transaction() as tx:
        tx.execute("INSERT INTO annotations SELECT * FROM annotations LIMIT 1")
    printed = run(database.settings, "check", status=1)
    assert "FAULT" in printed
    assert "cosqa store restore" in printed


def test_a_backup_is_made_and_put_back(database: Database, tmp_path: Path) -> None:
    settings, folder = database.settings, str(tmp_path / "backup")
    rows = rows_of(settings.database)
    assert "cosqa store restore" in run(settings, "backup", folder)
    with pytest.raises(StoreError, match="is not empty"):
        run(settings, "restore", folder)
    settings.folder.rename(tmp_path / "before")
    assert "is as in" in run(settings, "restore", folder)
    assert rows_of(settings.database) == rows


def test_a_folder_without_a_store_is_refused_and_stays_empty(tmp_path: Path) -> None:
    for words in (("check",), ("backup", str(tmp_path / "backup"))):
        with pytest.raises(StoreError, match="there is no store"):
            run(StoreSettings(folder=tmp_path / "none"), *words)
    assert list(tmp_path.iterdir()) == []
