"""Laws of backups and of the check.

A backup is whole or not there, and restored as it was; no folder is overwritten. A whole store has
no fault, and each damage is found and said.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agents.llm.ledger import journal_ledger
from infra.errors import DiskFullError, StoreError, StoreLockedError, StoreVersionError
from infra.journal import Journal, connect
from infra.settings import LanguageModelSettings, StoreSettings
from infra.store import Database, open_database
from infra.store.database_file import DatabaseFile
from infra.store.maintenance import back_up, faults_of, restore, row_counts
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import rows_of, whole_store

KILLED = """
import os, signal, sys
from pathlib import Path
from infra.settings import StoreSettings
from infra.store import maintenance
maintenance._vector_files = lambda _: os.kill(os.getpid(), signal.SIGKILL)
getattr(maintenance, sys.argv[3])(StoreSettings(folder=Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return whole_store(tmp_path / "store")


def layout(settings: StoreSettings) -> list[tuple[object, ...]]:
    """Return the columns and constraints of a database."""
    with DatabaseFile(settings).connected() as connection:
        columns = "table_name, column_name, data_type, is_nullable, column_default"
        of_tables = "table_name, constraint_type, constraint_text"
        return [
            *connection.execute(f"SELECT {columns} FROM duckdb_columns() ORDER BY ALL").fetchall(),
            *connection.execute(
                f"SELECT {of_tables} FROM duckdb_constraints() ORDER BY ALL"
            ).fetchall(),
        ]


def test_a_restored_backup_is_the_store_as_it_was(database: Database, tmp_path: Path) -> None:
    settings, folder = database.settings, tmp_path / "backups" / "one"
    rows = rows_of(settings.database)
    vectors = {path.name: path.read_bytes() for path in settings.vectors.rglob("*.arrow")}
    back_up(settings, folder)
    assert {path.stat().st_nlink for path in folder.rglob("*.arrow")} == {2}, "a second name"
    with database.transaction() as tx:
        tx.execute("DELETE FROM annotations")
    other = StoreSettings(folder=tmp_path / "other")
    other.folder.mkdir()
    restore(other, folder)
    assert open_database(other).store_id == database.store_id
    assert rows_of(other.database) == rows
    assert layout(other) == layout(settings)
    assert {path.name: path.read_bytes() for path in other.vectors.rglob("*.arrow")} == vectors
    assert Journal(other.journal).find("ab")
    assert journal_ledger(other, LanguageModelSettings(model="openai/m")).spent() == (100, 1.0)
    assert list(faults_of(other)) == []
    restore(StoreSettings(folder=tmp_path / "again"), folder)


def test_no_folder_is_overwritten(database: Database, tmp_path: Path) -> None:
    settings = database.settings
    back_up(settings, tmp_path / "backup")
    with pytest.raises(StoreError, match="store is not empty: move away"):
        restore(settings, tmp_path / "backup")
    with pytest.raises(StoreError, match=r"backup is not empty: .*another folder"):
        back_up(settings, tmp_path / "backup")
    for folder in (settings.folder / "backup", tmp_path):
        with pytest.raises(StoreError, match="would go with the store"):
            back_up(settings, folder)
    (tmp_path / "file").write_text("theirs")
    for place in ("file", "file/store"):
        with pytest.raises(StoreError, match="cannot be made"):
            restore(StoreSettings(folder=tmp_path / place), tmp_path / "backup")
    assert (tmp_path / "file").read_text() == "theirs"


def test_a_backup_without_vectors_that_the_database_names_is_not_made(
    database: Database, tmp_path: Path
) -> None:
    shutil.rmtree(next(path for path in database.settings.vectors.iterdir() if path.is_dir()))
    with pytest.raises(StoreError, match="which the database names, is missing"):
        back_up(database.settings, tmp_path / "backup")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_restoration_takes_the_three_parts_alone_and_writes_nothing_outside(
    database: Database, tmp_path: Path
) -> None:
    back_up(database.settings, tmp_path / "backup")
    for name in ("results/key", "refused/file", "cosqa.toml", "vectors/other.arrow"):
        (tmp_path / "backup" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "backup" / name).write_text("theirs")
    other = StoreSettings(folder=tmp_path / "there" / "other")
    restore(other, tmp_path / "backup")
    files = {path.name for path in other.folder.rglob("*") if path.is_file()}
    assert not files & {"key", "file", "cosqa.toml", "other.arrow"}
    (tmp_path / "profile").write_text("theirs")
    (tmp_path / "there" / "profile").write_text("mine")
    copy = StoreSettings(folder=tmp_path / "backup")
    absolute = str(tmp_path / "profile")
    for name in ("../../profile", absolute, "a/../../../profile", "..", "", "a/./../b", "a\nb/.."):
        with DatabaseFile(copy).connected() as connection:
            connection.execute("UPDATE vector_files SET file = ?", [name])
            connection.execute("CHECKPOINT")
        with pytest.raises(StoreError, match="it names vectors in"):
            restore(StoreSettings(folder=tmp_path / "there" / "third"), tmp_path / "backup")
    assert (tmp_path / "there" / "profile").read_text() == "mine"
    assert not (tmp_path / "there" / "third").exists()


def test_what_is_no_backup_or_of_another_release_is_refused(
    database: Database, tmp_path: Path
) -> None:
    other = StoreSettings(folder=tmp_path / "other")
    with pytest.raises(StoreError, match="is no backup of a store"):
        restore(other, tmp_path)
    back_up(database.settings, tmp_path / "backup")
    with DatabaseFile(StoreSettings(folder=tmp_path / "backup")).connected() as connection:
        connection.execute("UPDATE meta SET schema_version = 999")
    with pytest.raises(StoreVersionError, match=r"backup/cosqa.duckdb has schema version 999"):
        restore(other, tmp_path / "backup")
    assert {path.name for path in tmp_path.iterdir()} == {"store", "backup"}


def test_a_backup_or_restoration_that_is_killed_is_not_there_and_can_be_made_again(
    database: Database, tmp_path: Path
) -> None:
    def killed(store: Path, backup: Path, what: str) -> None:
        command = [sys.executable, "-c", KILLED, str(store), str(backup), what]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL

    store, folder, other = database.settings.folder, tmp_path / "backup", tmp_path / "other"
    killed(store, folder, "back_up")
    assert not folder.exists()
    back_up(database.settings, folder)
    killed(other, folder, "restore")
    assert not other.exists()
    restore(StoreSettings(folder=other), folder)
    assert {path.name for path in tmp_path.iterdir()} == {"store", "backup", "other"}


def test_others_read_and_write_while_a_backup_is_made(database: Database, tmp_path: Path) -> None:
    """The backup has a state of the database as it was between two transactions."""
    settings = database.settings.model_copy(update={"lock_timeout_s": 300.0})
    command = (
        "import sys; from pathlib import Path; from infra.journal import Journal; "
        "from tests.fakes.journals import keep; "
        "from infra.settings import StoreSettings; from infra.store import open_database; "
        "s = StoreSettings(folder=Path(sys.argv[1])); d = open_database(s); "
        "r = Journal(s.journal)\n"
        "for n in range(10**6):\n"
        "    keep(r, f'{n:08x}', b'reply').result()\n"
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
    assert list(faults_of(restored)) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_on_a_full_disk_no_backup_is_left(database: Database, tmp_path: Path) -> None:
    for disk in small_disk(tmp_path / "disk", 1):
        with pytest.raises(DiskFullError):
            back_up(database.settings, disk / "backup")
        assert list(disk.iterdir()) == []
        assert shutil.disk_usage(disk).used == 0


def test_linked_vectors_are_in_the_backup_themselves(database: Database, tmp_path: Path) -> None:
    settings, elsewhere = database.settings, tmp_path / "large disk"
    elsewhere.mkdir()
    vectors = {path.name: path.read_bytes() for path in settings.vectors.rglob("*.arrow")}
    file, *_, folder = sorted(settings.vectors.rglob("*.arrow"))
    for path in (file, folder.parent):
        (elsewhere / path.name).parent.mkdir(exist_ok=True)
        shutil.move(path, elsewhere / path.name)
        path.symlink_to(elsewhere / path.name)
    back_up(settings, tmp_path / "backup")
    shutil.rmtree(elsewhere)
    other = StoreSettings(folder=tmp_path / "other")
    restore(other, tmp_path / "backup")
    assert {path.name: path.read_bytes() for path in other.vectors.rglob("*.arrow")} == vectors
    assert not any(path.is_symlink() for path in other.folder.rglob("*"))
    assert list(faults_of(other)) == []


def test_a_backup_takes_no_file_from_outside_of_it(database: Database, tmp_path: Path) -> None:
    backup, other = tmp_path / "backup", StoreSettings(folder=tmp_path / "other")
    back_up(database.settings, backup)
    private = tmp_path / "private"
    for name in ("cosqa.duckdb", database.settings.journal.name, "vectors"):
        shutil.move(backup / name, private)
        (backup / name).symlink_to(private)
        with pytest.raises(StoreError, match="leads outside of"):
            restore(other, backup)
        (backup / name).unlink()
        shutil.move(private, backup / name)
    private.write_text("theirs")
    with DatabaseFile(StoreSettings(folder=backup)).connected() as connection:
        connection.execute("UPDATE vector_files SET file = '../../private'")
    with pytest.raises(StoreError, match=r"names vectors in '\.\./\.\./private'"):
        restore(other, backup)
    assert not other.folder.exists()


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
