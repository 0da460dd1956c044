"""Laws of packed stores' upkeep: old entries go, others stay, and a snapshot is whole.

Covers `infra.packed_files`.
"""

import os
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest

from infra.atomic import exchange
from infra.errors import DiskFullError, StoreError
from infra.packed import PackedStore
from infra.packed_files import first_of, remove_packed
from infra.packed_upkeep import (
    condition_of,
    find_old,
    packed_stores,
    remove_old,
    replaced_files,
    snapshot,
)
from tests.fakes.packed import pack
from tests.fakes.small_disk import small_disk

KEYS = [f"{number:04x}" for number in range(50)]
CONTENT = {key: os.urandom(2_000) for key in KEYS}
LATER, EARLIER = datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) - timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> PackedStore:
    made = PackedStore(tmp_path / "replies.sqlite")
    for written in [made.keep_soon(key, CONTENT[key]) for key in KEYS]:
        written.result()
    return made


def test_what_is_old_and_not_needed_goes(store: PackedStore) -> None:
    assert find_old(store, EARLIER, []).entries == 0
    found = find_old(store, LATER, [*KEYS[:10], "ffff"])
    assert found.entries == 40
    assert found.size > 0
    remove_old(store, LATER, KEYS[:10])
    assert [key for key in KEYS if store.find(key)] == KEYS[:10]
    assert all(store.find(key) == CONTENT[key] for key in KEYS[:10])
    assert condition_of(store, thorough=True) == (10, 0, "")


def test_a_snapshot_is_whole_while_others_write(store: PackedStore, tmp_path: Path) -> None:
    snapshot(store.file, tmp_path / "copy" / "replies.sqlite")
    store.keep("ab", b"later")
    copy = PackedStore(tmp_path / "copy" / "replies.sqlite")
    assert [key for key in KEYS if copy.find(key) is None] == []
    assert copy.find("ab") is None


WRITER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
while True:
    connection.execute("INSERT INTO packed (key, content) VALUES (randomblob(20), x'')")
    print(flush=True)
    time.sleep(0.001)
"""


def test_a_snapshot_of_many_steps_ends_while_others_write(
    store: PackedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.packed_upkeep._STEP_PAGES", 1)
    store.keep("ab", os.urandom(20_000_000))
    command = [sys.executable, "-c", WRITER, str(store.file)]
    copying = Thread(target=snapshot, args=(store.file, tmp_path / "copy.sqlite"))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        copying.start()
        copying.join(120)
        ended = not copying.is_alive()
        writer.kill()
        copying.join()
    assert ended


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_a_snapshot_onto_a_full_disk_names_that_disk(store: PackedStore, tmp_path: Path) -> None:
    store.keep("ab", os.urandom(2_000_000))
    for disk in small_disk(tmp_path / "disk", 1):
        with pytest.raises(DiskFullError, match=str(disk)):
            snapshot(store.file, disk / "copy.sqlite")


def test_damaged_files_are_told_and_those_that_were_replaced_are_known(
    store: PackedStore, tmp_path: Path
) -> None:
    pack(store)
    with store.file.open("r+b") as stream:
        stream.write(b"no database")
    damaged = PackedStore(store.file)
    assert condition_of(damaged, thorough=False).problem
    with pytest.raises(StoreError, match=r"replies\.sqlite"):
        snapshot(damaged.file, tmp_path / "copy.sqlite")
    assert replaced_files(damaged) == []
    first = damaged.file
    damaged.keep("ab", b"again")
    [found] = packed_stores(tmp_path)
    assert found.file.name == "replies-1.sqlite"
    assert replaced_files(found) == [first]


def test_files_of_other_kinds_are_no_packed_stores(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "batches.sqlite") as connection:
        connection.execute("CREATE TABLE requests (key BLOB)")
    assert packed_stores(tmp_path) == []


def damage(store: PackedStore) -> None:
    """Damage a store's file, and let another take its place."""
    pack(store)
    with store.file.open("r+b") as stream:
        stream.seek(100)  # behind the head: some of the rows can be read
        stream.write(b"\xff" * 100)
    PackedStore(first_of(store.file)).keep("ab", b"kept again")


@pytest.mark.parametrize("removed", [1, 2], ids=["ended half way", "all"])
def test_the_last_file_is_in_use_when_those_before_it_are_gone(
    store: PackedStore, tmp_path: Path, removed: int
) -> None:
    for _ in range(2):
        damage(store)
    store.keep("cd", b"paid")
    first, second = replaced_files(store)
    assert [first.name, second.name] == ["replies.sqlite", "replies-1.sqlite"]
    for gone in (first, second)[:removed]:
        remove_packed(gone)
    [found] = packed_stores(tmp_path)
    assert PackedStore(first).find("cd") == found.find("cd") == b"paid"
    assert replaced_files(found) == [second][: 2 - removed]


def test_files_that_users_name_alike_are_neither_used_nor_taken_for_replaced(
    store: PackedStore, tmp_path: Path
) -> None:
    snapshot(store.file, tmp_path / "replies-2024.sqlite")
    snapshot(store.file, tmp_path / "replies-of-may.sqlite")
    store.keep("cd", b"paid")
    assert PackedStore(store.file).find("cd") == b"paid"
    assert replaced_files(store) == []


def test_a_process_goes_on_in_the_folder_that_took_the_place_of_its_own(tmp_path: Path) -> None:
    one, other = (PackedStore(tmp_path / name / "replies.sqlite") for name in ("one", "other"))
    one.keep("ab", b"of one")
    other.keep("cd", b"of the other")
    assert one.find("cd") is None
    exchange(tmp_path / "one", tmp_path / "other")
    assert one.find("cd") == b"of the other"
    one.keep("ef", b"later")
    assert PackedStore(tmp_path / "one" / "replies.sqlite").find("ef") == b"later"
