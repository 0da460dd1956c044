"""Laws of backups: whole or not there, restored as they were, and no store is overwritten.

Covers `infra.store.backup`, `infra.store.backup`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infra.atomic import exchange
from infra.errors import (
    DiskFullError,
    StoreBusyError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
)
from infra.journal import Journal
from infra.settings import LanguageModelSettings, StoreSettings
from infra.store import Database, open_database
from infra.store.backup import MANIFEST, back_up, faults_of, read_backup, restore
from infra.store.check import check_database, check_files
from infra.store.runs import writer_lease
from tests.fakes.journals import limiter_of, requests_of, spend
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import rows_of, whole_store

LLM = LanguageModelSettings(model="openai/m")

KILLED = """
import os, signal, sys
from pathlib import Path
from infra.settings import StoreSettings
from infra.store.backup import back_up
from infra.store.backup import restore
def report(step):
    if step.startswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
settings = StoreSettings(folder=Path(sys.argv[1]))
if sys.argv[4] == "backup":
    back_up(settings, Path(sys.argv[2]), report)
else:
    restore(settings, Path(sys.argv[2]), force=True, report=report)
"""


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return whole_store(tmp_path / "store")


def killed(database: Database, folder: Path, step: str, what: str) -> None:
    store = str(database.settings.folder)
    command = [sys.executable, "-c", KILLED, store, str(folder), step, what]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


def content_of(folder: Path) -> dict[str, bytes]:
    """Return path → content of a store's files, without what locks and logs leave."""
    files = [path for path in folder.rglob("*") if path.suffix in (".arrow", ".json", "")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.is_file()}


def check_whole(settings: StoreSettings) -> None:
    found = [*check_database(settings, thorough=True), *check_files(settings, thorough=True)]
    assert [item for item in found if item.problem] == []


def test_a_restored_backup_is_the_store_as_it_was(database: Database, tmp_path: Path) -> None:
    settings, folder = database.settings, tmp_path / "backups" / "one"
    rows, content = rows_of(settings.database), content_of(settings.folder)
    made = back_up(settings, folder)
    assert read_backup(folder) == made
    assert list(faults_of(folder, made)) == []
    [vectors] = {path.stat().st_nlink for path in (folder / "vectors").rglob("*.arrow")}
    assert vectors == 2, "vectors have a second name on the same disk"
    with database.transaction() as tx:
        tx.execute("DELETE FROM annotations")
    other = StoreSettings(folder=tmp_path / "other")
    assert restore(other, folder) is None
    assert open_database(other).store_id == database.store_id
    assert rows_of(other.database) == rows
    assert content_of(other.folder) == content
    assert Journal(other.journal).find("ab")
    assert limiter_of(other, LLM).spent() == (100, 1.0)
    check_whole(other)


def test_a_store_gives_way_only_by_force_and_is_kept(database: Database, tmp_path: Path) -> None:
    settings, folder = database.settings, tmp_path / "backup"
    back_up(settings, folder)
    with database.transaction() as tx:
        tx.execute("DELETE FROM audits; DELETE FROM scores")
    changed = rows_of(settings.database)
    with pytest.raises(StoreError, match="--force"):
        restore(settings, folder)
    assert rows_of(settings.database) == changed
    kept = restore(settings, folder, force=True)
    assert kept is not None
    assert rows_of(kept / "cosqa.duckdb") == changed
    assert rows_of(settings.database) != changed
    check_whole(settings)


def paid(settings: StoreSettings, key: str, usd: float) -> None:
    """Let a reply be paid for, and a batch be sent."""
    Journal(settings.journal).keep(key, key.encode()).result()
    spend(limiter_of(settings, LLM), 100, usd)
    requests_of(settings, LLM).begin(key, [], 0, 0.0).result()


def batches_of(settings: StoreSettings) -> list[str]:
    return [batch.mark for batch in requests_of(settings, LLM).sent()]


@pytest.mark.parametrize(("damage", "mode"), [(False, "WAL"), (False, "TRUNCATE"), (True, "WAL")])
def test_what_was_paid_for_since_the_backup_is_taken_over(
    database: Database, tmp_path: Path, damage: bool, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk of this machine, and on one of a network."""
    monkeypatch.setattr("infra.sqlite.journal_mode", lambda _: mode)
    settings = database.settings
    paid(settings, "cd", 50.0)
    back_up(settings, tmp_path / "backup")
    paid(settings, "ef", 5.0)
    if damage:
        settings.journal.write_bytes(b"no database")
        settings.database.write_bytes(b"damaged too, so that it cannot tell whose it is")
    restore(settings, tmp_path / "backup", force=True)
    journal = Journal(settings.journal)
    assert (journal.find("cd"), journal.find("ef")) == (b"cd", None if damage else b"ef")
    assert limiter_of(settings, LLM).spent()[1] == (51.0 if damage else 56.0)
    assert batches_of(settings) == (["cd"] if damage else ["cd", "ef"])
    check_whole(settings)


def test_what_another_store_has_spent_is_added_and_its_batches_stay_there(
    database: Database, tmp_path: Path
) -> None:
    """The store was lost, a fresh one was used, then the backup was found."""
    paid(database.settings, "cd", 50.0)
    back_up(database.settings, tmp_path / "backup")
    fresh = open_database(StoreSettings(folder=tmp_path / "fresh")).settings
    paid(fresh, "ef", 2.0)
    kept = restore(fresh, tmp_path / "backup", force=True)
    assert limiter_of(fresh, LLM).spent()[1] == 53.0
    assert batches_of(fresh) == ["cd"], "those in flight that only the backup knows"
    assert kept is not None
    assert batches_of(StoreSettings(folder=kept)) == ["ef"]


def test_a_reply_that_is_paid_for_while_a_backup_takes_the_place_is_not_lost(
    database: Database, tmp_path: Path
) -> None:
    settings = database.settings
    back_up(settings, tmp_path / "backup")
    journal, waiting = Journal(settings.journal), []

    def report(step: str) -> None:
        if step.startswith("putting"):
            waiting.append(journal.keep("ef", b"paid meanwhile"))

    restore(settings, tmp_path / "backup", force=True, report=report)
    waiting[0].result()
    assert Journal(settings.journal).find("ef") == b"paid meanwhile"


def test_a_store_by_a_link_stays_on_its_disk(database: Database, tmp_path: Path) -> None:
    link, folder = tmp_path / "link", tmp_path / "backup"
    link.symlink_to(database.settings.folder)
    settings = StoreSettings(folder=link, lock_timeout_s=5.0)
    back_up(settings, folder)
    kept = restore(settings, folder, force=True)
    assert link.is_symlink()
    assert kept is not None
    assert not kept.is_symlink()
    assert not database.settings.folder.is_symlink()
    with pytest.raises(StoreError, match="would go with the store"):
        back_up(settings, database.settings.folder / "backup")


def test_vectors_behind_links_are_in_the_backup(database: Database, tmp_path: Path) -> None:
    store = database.settings
    (folder,) = [path for path in store.vectors.iterdir() if path.is_dir()][:1]
    folder.rename(tmp_path / "other-disk")
    folder.symlink_to(tmp_path / "other-disk")
    (store.vectors / "circle").symlink_to(store.vectors)
    backup = back_up(store, tmp_path / "backup")
    assert list(faults_of(tmp_path / "backup", backup)) == []
    restored = StoreSettings(folder=tmp_path / "restored")
    restore(restored, tmp_path / "backup")
    check_whole(restored)


def test_a_backup_without_vectors_that_the_database_names_is_not_made(
    database: Database, tmp_path: Path
) -> None:
    shutil.rmtree(next(path for path in database.settings.vectors.iterdir() if path.is_dir()))
    with pytest.raises(StoreError, match=r"files that the database names, such as .*no backup"):
        back_up(database.settings, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_backup_with_links_is_refused(
    database: Database, tmp_path: Path, is_folder: bool
) -> None:
    backup = back_up(database.settings, tmp_path / "backup")
    path = next(file.path for file in backup.files if file.path.startswith("vectors/"))
    linked = tmp_path / "backup" / ("vectors" if is_folder else path)
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="behind, a link"):
        restore(StoreSettings(folder=tmp_path / "restored"), tmp_path / "backup")
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("place", ["file", "file/store", "device"])
def test_a_place_that_can_be_no_folder_is_refused_before_anything_is_copied(
    database: Database, tmp_path: Path, place: str, force: bool
) -> None:
    back_up(database.settings, tmp_path / "backup")
    (tmp_path / "file").write_text("theirs")
    os.mkfifo(tmp_path / "device")
    before = sorted(tmp_path.iterdir())
    steps: list[str] = []
    with pytest.raises(StoreError, match=r"(file|device) is no folder: .*--store"):
        restore(
            StoreSettings(folder=tmp_path / place), tmp_path / "backup", force=force,
            report=steps.append,
        )  # fmt: skip
    assert steps == []
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "theirs"


def test_one_process_at_a_time_restores_a_store(database: Database, tmp_path: Path) -> None:
    back_up(database.settings, tmp_path / "backup")

    def report(_: str) -> None:
        with pytest.raises(StoreLockedError, match="another process puts a backup"):
            restore(database.settings, tmp_path / "backup", force=True)

    assert restore(database.settings, tmp_path / "backup", force=True, report=report)


def test_what_is_on_its_way_is_in_no_backup(database: Database, tmp_path: Path) -> None:
    (database.settings.folder / "batch-mark-0.jsonl").write_bytes(b"half")
    journal = Journal(database.settings.journal)
    journal.keep("cd", b"so that there is a log").result()
    made = back_up(database.settings, tmp_path / "backup")
    names = {file.path.split("/")[0] for file in made.files}
    assert names == {"cosqa.duckdb", "journal.sqlite", "vectors"}


def test_a_store_that_a_run_writes_to_does_not_give_way(database: Database, tmp_path: Path) -> None:
    back_up(database.settings, tmp_path / "backup")
    with writer_lease(database.settings, "a run"), pytest.raises(StoreBusyError, match="a run"):
        restore(database.settings, tmp_path / "backup", force=True)
    assert [path.name for path in tmp_path.iterdir() if "store" in path.name] == ["store"]


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        ("cosqa.duckdb", False),
        ("journal.sqlite", True),
        pytest.param("cosqa.duckdb", True, marks=pytest.mark.exhaustive),
        pytest.param("journal.sqlite", False, marks=pytest.mark.exhaustive),
    ],
)
def test_a_damaged_backup_changes_nothing(
    database: Database, tmp_path: Path, damage: str, lost: bool
) -> None:
    folder = tmp_path / "backup"
    back_up(database.settings, folder)
    file = folder / damage
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.unlink() if lost else file.write_bytes(content)
    before = rows_of(database.settings.database)
    with pytest.raises(StoreError, match=r"is damaged.*another backup"):
        restore(database.settings, folder, force=True)
    assert rows_of(database.settings.database) == before
    assert not list(tmp_path.glob(".store*"))


def test_a_backup_of_a_later_release_or_with_foreign_paths_or_none_is_refused(
    database: Database, tmp_path: Path
) -> None:
    folder, other = tmp_path / "backup", StoreSettings(folder=tmp_path / "other")
    back_up(database.settings, folder)
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | {"schema_version": 999}))
    with pytest.raises(StoreVersionError, match="999"):
        restore(other, folder)
    for path in ("../x", "/etc/x", "a/../../x", "a//b", "."):
        files = [{"path": path, "size": 1, "sha256": ""}]
        (folder / MANIFEST).write_text(json.dumps(manifest | {"files": files}))
        with pytest.raises(StoreError, match="no backup"):
            restore(other, folder)
    for path in ("a" * 5_000, "none", "."):
        files = [{"path": f"{path}/x", "size": 1, "sha256": ""}]
        (folder / MANIFEST).write_text(json.dumps(manifest | {"files": files}))
        with pytest.raises(StoreError, match="backup"):
            restore(other, folder)
    with pytest.raises(StoreError, match="no backup"):
        restore(other, tmp_path)
    (folder / MANIFEST).unlink()
    os.mkfifo(folder / MANIFEST)
    with pytest.raises(StoreError, match="no backup"):
        restore(other, folder)
    assert not other.folder.exists()


def test_a_backup_is_made_into_a_new_folder_outside_the_store(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for folder in (tmp_path / "full", database.settings.folder / "backup", tmp_path):
        with pytest.raises(StoreError, match="another folder"):
            back_up(database.settings, folder)


def test_a_backup_that_is_killed_is_not_there_and_can_be_made_again(
    database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    for step in ("copying replies", "copying vectors", "reading"):
        killed(database, folder, step, "backup")
        assert not folder.exists()
    made = back_up(database.settings, folder)
    assert list(faults_of(folder, made)) == []
    assert {path.name for path in tmp_path.iterdir()} == {"store", "backup"}


def test_a_restoration_that_is_killed_leaves_the_store_as_it_was(
    database: Database, tmp_path: Path
) -> None:
    back_up(database.settings, tmp_path / "backup")
    with database.transaction() as tx:
        tx.execute("DELETE FROM scores")
    before = rows_of(database.settings.database)
    for step in ("comparing", "putting"):
        killed(database, tmp_path / "backup", step, "restore")
        assert rows_of(database.settings.database) == before
    restore(database.settings, tmp_path / "backup", force=True)
    check_whole(database.settings)


def test_others_read_and_write_while_a_backup_is_made(database: Database, tmp_path: Path) -> None:
    """The backup has a state of the database as it was between two transactions."""
    settings = database.settings.model_copy(update={"lock_timeout_s": 300.0})
    command = (
        "import sys; from pathlib import Path; from infra.journal import Journal; "
        "from infra.settings import StoreSettings; from infra.store import open_database; "
        "s = StoreSettings(folder=Path(sys.argv[1])); d = open_database(s); "
        "r = Journal(s.journal)\n"
        "for n in range(10**6):\n"
        "    r.keep(f'{n:08x}', b'reply').result()\n"
        "    with d.transaction() as tx:\n"
        "        tx.execute('INSERT INTO queries VALUES (?, ?)', [f'{n:08x}', 'text'])\n"
        "        tx.execute('INSERT INTO codes VALUES (?, ?)', [f'{n:08x}', 'text'])\n"
        "    print(n, flush=True)\n"
    )
    arguments = [sys.executable, "-c", command, str(settings.folder)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "0\n"
        back_up(settings, tmp_path / "backup")
        writer.terminate()
    restored = StoreSettings(folder=tmp_path / "restored")
    restore(restored, tmp_path / "backup")
    with open_database(restored).transaction() as tx:
        keys, codes = (
            [str(key) for (key,) in tx.rows(f"{listed} WHERE length(id) = 8 ORDER BY id")]
            for listed in ("SELECT query_id AS id FROM queries", "SELECT code_id AS id FROM codes")
        )
    assert keys == codes
    assert keys
    replies = Journal(restored.journal)
    assert all(replies.find(key) == b"reply" for key in keys)
    check_whole(restored)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_on_a_full_disk_no_backup_is_left(database: Database, tmp_path: Path) -> None:
    for disk in small_disk(tmp_path / "disk", 4):
        with pytest.raises(DiskFullError):
            back_up(database.settings, disk / "backup")
        assert list(disk.iterdir()) == []
        assert shutil.disk_usage(disk).used == 0


def test_two_folders_exchange_their_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / "b").exists()
    assert (tmp_path / "b" / "a").exists()
