"""Laws of snapshots: a copy is whole, reads the log too, waits for writers and is written by none.

Covers `infra.store.browsing`, whose queries `tests/tasks/browse/test_pages.py` asks by pages.
"""

import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path

import duckdb
import pytest

from infra.errors import StoreError, StoreLockedError
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.browsing import Wanted, find_pairs, index_pairs, take_snapshot
from tests.fakes.stores import whole_store


def test_a_snapshot_has_what_the_store_had_and_its_functions_take_it(tmp_path: Path) -> None:
    database = whole_store(tmp_path / "store")
    snapshot = take_snapshot(database.settings)
    assert snapshot.is_current()
    with database.transaction() as tx:
        before = tx.count("SELECT count(*) FROM annotations")
        tx.execute("DELETE FROM annotations")
    assert snapshot.count("SELECT count(*) FROM annotations") == before > 0
    assert snapshot.store_id == database.store_id
    assert not snapshot.is_current()
    assert take_snapshot(database.settings).count("SELECT count(*) FROM annotations") == 0


def test_commits_that_are_in_the_log_alone_are_in_the_copy(tmp_path: Path) -> None:
    database = whole_store(tmp_path / "store")
    with duckdb.connect(str(database.settings.database)) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("DELETE FROM annotations")
    assert database.settings.database.with_suffix(".duckdb.wal").exists()
    assert take_snapshot(database.settings).count("SELECT count(*) FROM annotations") == 0


def test_a_snapshot_cannot_be_written(tmp_path: Path) -> None:
    snapshot = take_snapshot(whole_store(tmp_path / "store").settings)
    with pytest.raises(duckdb.Error, match="read-only"), snapshot.transaction() as tx:
        tx.execute("DELETE FROM annotations")


def test_pairs_without_any_labels_are_candidates(tmp_path: Path) -> None:
    snapshot = take_snapshot(whole_store(tmp_path / "store").settings)
    index_pairs(snapshot, [])
    assert find_pairs(snapshot, Wanted()).total == 7


def _hold(file: str, holds: Event, end: Event) -> None:
    with duckdb.connect(file):
        holds.set()
        end.wait(60)


def test_a_copy_waits_for_a_writer_and_says_who_it_waited_for(tmp_path: Path) -> None:
    database = whole_store(tmp_path / "store")
    context = multiprocessing.get_context("spawn")
    holds, end = context.Event(), context.Event()
    writer = context.Process(target=_hold, args=(str(database.settings.database), holds, end))
    writer.start()
    assert holds.wait(60)
    hurried = database.settings.model_copy(update={"lock_timeout_s": 0.2})
    with pytest.raises(StoreLockedError, match=rf"locked by another .*python.*PID {writer.pid}\b"):
        take_snapshot(hurried)
    end.set()
    assert take_snapshot(database.settings.model_copy(update={"lock_timeout_s": 60})).store_id
    writer.join(60)


def test_another_file_is_refused(tmp_path: Path) -> None:
    settings = StoreSettings(folder=tmp_path / "store")
    open_database(settings)
    settings.database.unlink()
    with duckdb.connect(str(settings.database)) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    with pytest.raises(StoreError, match="not a store of this program"):
        take_snapshot(settings)
