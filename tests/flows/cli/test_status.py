"""Laws of `cosqa status`: it says what is stored, and who writes."""

import os
from pathlib import Path

import pytest

from flows.cli import status
from flows.cli.status import show_status
from infra.errors import StoreError, StoreLockedError
from infra.settings import StoreSettings
from infra.store import Database, open_database
from infra.store.runs import writer_lease


@pytest.fixture
def store(tmp_path: Path) -> StoreSettings:
    return StoreSettings(folder=tmp_path)


@pytest.fixture
def database(store: StoreSettings) -> Database:
    return open_database(store)


def shown(store: StoreSettings, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that are printed, without the store's."""
    show_status(store)
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"store   {store.folder}"
    return lines


@pytest.mark.usefixtures("database")
def test_what_is_stored_and_who_writes_is_shown(
    store: StoreSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    with writer_lease(store, "annotate"):
        stored, writes = shown(store, capsys)
    assert stored == (
        "stored  0 queries, 0 codes, 0 candidates, 0 labelled pairs, 0 exported benchmarks"
    )
    assert writes.startswith(f"writes  annotate (process {os.getpid()} on ")
    assert shown(store, capsys)[1] == "writes  nothing"


@pytest.mark.usefixtures("database")
def test_a_store_that_is_held_is_said(
    store: StoreSettings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def held(_: StoreSettings) -> Database:
        raise StoreLockedError("another process has it open")

    monkeypatch.setattr(status, "open_database", held)
    assert "another process has the database open" in shown(store, capsys)[0]


def test_a_folder_without_a_store_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        show_status(StoreSettings(folder=tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []
