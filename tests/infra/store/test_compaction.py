"""Laws of compaction: smaller, the same rows and layout, and nothing changed where it fails."""

import os
import shutil
from pathlib import Path

import pytest

from infra.errors import DiskFullError, StoreLockedError
from infra.store import Database, open_database
from infra.store.compaction import compact
from infra.store.layout import layout_of, layout_of_schema
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import rows_of, whole_store


def with_garbage(database: Database) -> Database:
    """Store rows and delete them again."""
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO codes SELECT 'c' || n, repeat(md5(n::VARCHAR), 50) FROM range(5000) t(n)"
        )
    with database.transaction() as tx:
        tx.execute("DELETE FROM codes WHERE text LIKE '%' AND length(text) = 1600")
    return database


def test_a_compacted_store_is_smaller_and_has_the_same_rows_and_layout(tmp_path: Path) -> None:
    database = with_garbage(whole_store(tmp_path / "store"))
    before = rows_of(database.settings.database)
    found = {item.file.name: item for item in compact(database.settings)}
    assert set(found) == {"cosqa.duckdb", "replies.sqlite"}
    assert found["cosqa.duckdb"].after < found["cosqa.duckdb"].before
    assert found["cosqa.duckdb"].after == database.settings.database.stat().st_size
    assert rows_of(database.settings.database) == before
    with open_database(database.settings).transaction() as tx:
        assert list(layout_of_schema().differences(layout_of(tx.connection))) == []
    assert not list(database.settings.folder.glob(".*"))


def test_a_store_that_is_a_link_to_a_file_elsewhere_stays_one(tmp_path: Path) -> None:
    settings = with_garbage(whole_store(tmp_path / "store")).settings
    elsewhere = tmp_path / "elsewhere" / "big.duckdb"
    elsewhere.parent.mkdir()
    settings.database.rename(elsewhere)
    settings.database.symlink_to(elsewhere)
    before = elsewhere.stat().st_size
    list(compact(settings))
    assert settings.database.is_symlink()
    assert elsewhere.stat().st_size < before


def test_a_compaction_ended_at_any_step_changes_nothing(tmp_path: Path) -> None:
    database = whole_store(tmp_path / "store")
    for last in ("copying the database", "comparing the copy with it", "putting it in place"):
        before = database.settings.database.read_bytes()

        def report(step: str, last: str = last) -> None:
            if step == last:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            list(compact(database.settings, report))
        assert database.settings.database.read_bytes() == before
        assert not list(database.settings.folder.glob(".*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_a_compaction_without_room_changes_nothing(tmp_path: Path) -> None:
    for disk in small_disk(tmp_path / "disk", 64):
        database = whole_store(disk / "store")
        before = rows_of(database.settings.database)
        room = database.settings.database.stat().st_size * 3 // 2  # its copy, but not the log
        (disk / "other").write_bytes(bytes(shutil.disk_usage(disk).free - room))
        with pytest.raises(DiskFullError, match="nothing was changed"):
            list(compact(database.settings))
        assert rows_of(database.settings.database) == before


def test_a_store_in_use_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    database = whole_store(tmp_path / "store")
    settings = database.settings.model_copy(update={"lock_timeout_s": 0.2})
    with database.transaction(), pytest.raises(StoreLockedError):
        list(compact(settings))
    assert list(compact(settings))
