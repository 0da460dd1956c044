"""Laws of packed stores: kept is kept, by kill, damage and a full disk.

Covers `infra.packed_files`, `infra.packed_rescue`, `infra.sqlite`.
"""

import fcntl
import os
import signal
import sqlite3
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra.errors import StoreError
from infra.packed import PackedStore
from infra.sqlite import connect, journal_mode

KEYS = [f"{number:020x}" for number in range(2_000)]

WRITER = """
import sys
from pathlib import Path
from infra.packed import PackedStore
store = PackedStore(Path(sys.argv[1]))
for number in range(10**9):
    key = f"{sys.argv[2]}{number:018x}"
    store.keep(key, key.encode() * 20)
    print(key, flush=True)
"""


def content_of(key: str) -> bytes:
    return os.urandom(200) + key.encode()


def test_processes_killed_while_they_write_lose_nothing_that_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "packed.sqlite"
    command = [sys.executable, "-c", WRITER, str(file)]
    writers = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True)
        for name in ("aa", "bb")
    ]
    said: list[str] = []
    for writer in writers:
        assert writer.stdout is not None
        said += [writer.stdout.readline().strip() for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.read().split()[:-1]  # the last line may be half
        writer.wait()
        writer.stdout.close()
    store = PackedStore(file)
    assert len(said) >= 40
    assert [key for key in said if store.find(key) != key.encode() * 20] == []
    store.keep("cc", b"later")
    assert store.find("cc") == b"later"


def test_what_threads_keep_at_once_is_found_and_the_last_content_of_a_key_counts(
    tmp_path: Path,
) -> None:
    store = PackedStore(tmp_path / "packed.sqlite")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: store.keep(key, key.encode()), KEYS[:200]))
    store.keep(KEYS[0], b"again")
    found = [store.find(key) for key in KEYS[:201]]
    assert found == [b"again", *(key.encode() for key in KEYS[1:200]), None]


def damaged(file: Path, place: int, size: int, byte: bytes = b"\xff") -> None:
    """Overwrite a part of a file; a negative place counts from the end."""
    with file.open("r+b") as stream:
        stream.seek(place, os.SEEK_END if place < 0 else os.SEEK_SET)
        stream.write(byte * size)


@pytest.mark.parametrize(
    ("place", "size", "rescued"),
    [
        pytest.param(0, 100, 0, id="the head: no database"),
        pytest.param(200_000, 4096, 1_900, id="a page in the middle"),
        pytest.param(-8192, 8192, 1_900, id="the end"),
    ],
)
def test_a_damaged_file_is_set_aside_and_what_can_be_read_of_it_is_taken_over(
    tmp_path: Path, place: int, size: int, rescued: int, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "packed.sqlite"
    contents = {key: content_of(key) for key in KEYS}
    first = PackedStore(file)
    for written in [first.keep_soon(key, contents[key]) for key in KEYS]:
        written.result()
    connection = connect(file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    damaged(file, place, size)
    second, third = PackedStore(file), PackedStore(file)
    found = {key: second.find(key) for key in KEYS}
    lost = [key for key in KEYS if found[key] is None]
    for written in [second.keep_soon(key, b"again") for key in lost]:
        written.result()
    assert sum(content is not None for content in found.values()) >= rescued
    assert all(found[key] in (None, contents[key]) for key in KEYS)
    for store in (first, second, third):
        assert {store.find(key) for key in lost} <= {b"again"}
        assert store.find(KEYS[0]) is not None
    assert "damaged" in caplog.text
    assert file.exists()


def zeroed(tmp_path: Path, table: str) -> tuple[PackedStore, dict[str, bytes]]:
    """Return a store of which a sector is zeros, in a leaf of the index or the table."""
    file = tmp_path / "packed.sqlite"
    contents = {key: content_of(key) for key in KEYS}
    store = PackedStore(file)
    for written in [store.keep_soon(key, contents[key]) for key in KEYS]:
        written.result()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", [table]
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    content = file.read_bytes()
    (leaf,) = struct.unpack_from(">I", content, (root - 1) * size + 8)  # the last one's page
    damaged(file, leaf * size - 512, 512, b"\0")
    return PackedStore(file), contents


def test_a_zeroed_sector_of_the_index_hides_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, contents = zeroed(tmp_path, "sqlite_autoindex_packed_1")
    assert {key: store.find(key) for key in KEYS} == contents
    assert f"{len(KEYS):,} entries could be read" in caplog.text
    assert store.file.name == "packed-1.sqlite"


def test_rows_that_are_zeros_do_not_keep_others_from_being_rescued(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, contents = zeroed(tmp_path, "packed")
    assert store.find("ff" * 20) is None
    found = {key: store.find(key) for key in KEYS}
    assert sum(content is not None for content in found.values()) > 1_900
    assert all(content in (None, contents[key]) for key, content in found.items())
    assert "damaged" in caplog.text
    for written in [store.keep_soon(key, contents[key]) for key in KEYS]:
        written.result()
    assert {key: store.find(key) for key in KEYS} == contents


def test_a_sound_file_is_checked_once_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PackedStore(tmp_path / "packed.sqlite")
    store.keep_soon("ab", b"content").result()
    checks: list[object] = []
    monkeypatch.setattr("infra.packed.check", checks.append)
    assert [store.find(key) for key in ("ab", "cd", "ef")] == [b"content", None, None]
    assert len(checks) == 1
    assert store.file.name == "packed.sqlite"


@pytest.mark.parametrize("content", ["x'789c00'", "'text'", "7"])
def test_a_content_that_is_damaged_is_absent_and_can_be_kept_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    store = PackedStore(tmp_path / "packed.sqlite")
    store.keep("ab", b"content")
    with sqlite3.connect(store.file) as connection:
        connection.execute(f"UPDATE packed SET content = {content}")
    assert store.find("ab") is None
    assert "damaged" in caplog.text
    store.keep("ab", b"again")
    assert store.find("ab") == b"again"


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_on_a_full_disk_keeping_fails_and_what_was_kept_stays(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        store, kept = PackedStore(disk / "packed.sqlite"), list[str]()

        def fill() -> None:
            for key in KEYS:
                store.keep(key, os.urandom(1_000))
                kept.append(key)

        with pytest.raises(StoreError, match="make room"):
            fill()
        assert kept
        assert all(PackedStore(store.file).find(key) for key in kept)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_process_that_hangs_with_the_lock_is_an_error_and_not_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = PackedStore(tmp_path / "packed.sqlite")
    store.keep("ab", b"content")
    monkeypatch.setattr("infra.packed._WARNING_S", 0.0)
    monkeypatch.setattr("infra.packed._LOCK_TIMEOUT_S", 0.5)
    with (tmp_path / "packed.lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match=r"packed\.lock has been locked .* end that process"):
            store.keep("ac", b"more")
        assert store.find("ab") == b"content"
    assert "waiting for a process" in caplog.text
    store.keep("ac", b"more")


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    connection = connect(tmp_path / "packed.sqlite")
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(
    ("folder", "mode"),
    [("/home/me/store", "WAL"), ("/net/store/x", "TRUNCATE"), ("/net/store/own/x", "WAL")],
)
def test_a_folder_that_machines_share_has_no_write_ahead_log(
    tmp_path: Path, folder: str, mode: str
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\nserver:/x /net/store nfs4 rw 0 0\n"
        "/dev/vdb /net/store/own ext4 rw 0 0\n"
    )
    assert journal_mode(Path(folder), mounts) == mode
    assert journal_mode(Path(folder), tmp_path / "none") == "WAL"
