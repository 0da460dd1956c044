"""Laws of the database's file: damage, signals, and the lock of its writer.

Damage is said, with what to do, or the store reads as before. A signal that arrives while DuckDB
works ends the program as one that arrives elsewhere. A writer is named to others, and its lock gone
with its process.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import duckdb
import psutil
import pytest

from infra.errors import StoreBusyError, StoreError
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.database_file import writer_lock
from infra.store.maintenance import faults_of, restore
from tests.fakes.stores import whole_store

Reading = dict[str, object]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreSettings:
    return whole_store(tmp_path_factory.mktemp("damage") / "store").settings


def read_all(settings: StoreSettings) -> Reading:
    database = open_database(settings)
    with database.transaction() as tx:
        return {
            table: tx.rows(f"SELECT bit_xor(hash(t)), count(*) FROM {table} AS t")
            for (table,) in tx.rows("SHOW TABLES")
        }


def flip(content: bytearray, chance: random.Random) -> None:
    place = chance.choice((chance.randrange(len(content)), chance.randrange(12_288)))
    content[place] ^= 1 << chance.randrange(8)


def blot(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) - 4_096)
    content[place : place + 4_096] = chance.randbytes(4_096)


def cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


@pytest.mark.parametrize("damage", [flip, blot, cut])
@pytest.mark.parametrize(
    "times", [8, pytest.param(100, marks=[pytest.mark.nightly, pytest.mark.slow])]
)
def test_a_damaged_file_is_said_or_reads_as_before(
    store: StoreSettings, damage: Callable[[bytearray, random.Random], None], times: int
) -> None:
    whole, chance = store.database.read_bytes(), random.Random(times)
    before = read_all(store)
    try:
        for _ in range(times):
            content = bytearray(whole)
            damage(content, chance)
            store.database.write_bytes(content)
            try:
                assert read_all(store) == before
            except StoreError as error:
                message = str(error)
                is_foreign = "not a store of this program" in message  # cut to nothing
                assert is_foreign or ("store check" in message and "store restore" in message)
    finally:
        store.database.write_bytes(whole)


LOST = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("CREATE TABLE more AS SELECT 1 AS one")
os._exit(0)
"""


@pytest.mark.parametrize("content", [b"garbage" * 50, bytes(512), b"\x64\x00\x63" * 9])
def test_a_log_that_is_none_is_said_before_duckdb_drops_it(tmp_path: Path, content: bytes) -> None:
    settings = StoreSettings(folder=tmp_path)
    open_database(settings)
    log = tmp_path / f"{settings.database.name}.wal"
    log.write_bytes(content)
    with pytest.raises(StoreError, match=r"\.wal is damaged"):
        open_database(settings)
    [found] = faults_of(settings)
    assert ".wal is damaged" in found
    assert log.read_bytes() == content
    log.unlink()
    open_database(settings)


@pytest.mark.parametrize("length", [None, 0, 1, 2, 40])
def test_the_log_of_a_killed_process_is_taken_over(tmp_path: Path, length: int | None) -> None:
    settings = StoreSettings(folder=tmp_path)
    database = open_database(settings)
    subprocess.run([sys.executable, "-c", LOST, str(settings.database)], check=True)
    log = tmp_path / f"{settings.database.name}.wal"
    os.truncate(log, log.stat().st_size if length is None else length)
    with database.transaction() as tx:
        kept = tx.count("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'more'")
    assert kept == (length is None)


def test_errors_that_are_no_damage_stay_as_they_are(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    for statement, kind in {
        "INSERT INTO meta VALUES (NULL, NULL)": duckdb.ConstraintException,
        "SELECT * FROM nothing": duckdb.CatalogException,
        "SELECT 'x'::INTEGER": duckdb.ConversionException,
    }.items():
        with pytest.raises(kind), database.transaction() as tx:
            tx.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        "DROP TABLE meta; CREATE VIEW meta AS SELECT 15, content FROM read_text('/etc/hostname')",
        "CREATE VIEW more AS SELECT 1 AS a",
        "CREATE MACRO lower(a) AS (SELECT content FROM read_text('/etc/hostname'))",
        "CREATE MACRO files() AS TABLE SELECT * FROM read_text('/etc/hostname')",
    ],
)
def test_a_store_with_views_or_functions_of_others_is_refused(
    statements: str, tmp_path: Path
) -> None:
    database = whole_store(tmp_path / "store")
    with duckdb.connect(str(database.settings.database)) as connection:
        connection.execute(statements)
    with pytest.raises(StoreError, match="is no table, and may read other files"):
        open_database(database.settings)
    with pytest.raises(StoreError, match="is no table, and may read other files"):
        restore(StoreSettings(folder=tmp_path / "other"), database.settings.folder)


HOLDING = """
import sys, duckdb
with duckdb.connect(sys.argv[1]) as connection:
    print("held", flush=True)
    sys.stdin.readline()
    connection.execute("CREATE VIEW more AS SELECT content FROM read_text('/etc/hostname')")
"""


def test_a_file_that_was_changed_while_this_process_waited_for_it_is_looked_at(
    tmp_path: Path,
) -> None:
    settings = whole_store(tmp_path / "store").settings
    open_database(settings)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(settings.database)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as holder, ThreadPoolExecutor(1) as thread:  # fmt: skip
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        opened = thread.submit(open_database, settings)
        time.sleep(0.5)  # it waits for the file
        holder.communicate("\n")
        with pytest.raises(StoreError, match="'more' is no table"):
            opened.result()
    with pytest.raises(StoreError, match="'more' is no table"):
        open_database(settings)


INTERRUPTED = """
import os, signal, sys, threading
from pathlib import Path
from infra.settings import StoreSettings
from infra.store import open_database

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored under a shell's `&`
database = open_database(StoreSettings(folder=Path(sys.argv[1])))
try:
    with database.transaction() as tx:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        tx.count("SELECT count(*) FROM range(60_000) a, range(50_000) b WHERE a.range > b.range")
except KeyboardInterrupt:
    with database.transaction() as tx:
        print("usable", tx.count("SELECT 1"))
"""


def test_ctrl_c_within_a_query_is_an_interrupt_and_the_store_stays_usable(tmp_path: Path) -> None:
    """In a process of its own, which the signal may end."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "store")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == "usable 1\n", done.stderr


def test_ctrl_c_while_the_file_is_opened_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = StoreSettings(folder=tmp_path / "store")
    database = open_database(settings)

    def interrupted_by_duckdb(*_: object) -> NoReturn:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("infra.store.database_file.DatabaseFile._open", interrupted_by_duckdb)
    with pytest.raises(KeyboardInterrupt), database.transaction():
        pass
    with pytest.raises(KeyboardInterrupt):
        open_database(settings)


# Holds the lock with a child of its own, as a flow does with Ray's workers.
HOLD = """
import subprocess, sys
from pathlib import Path
from infra.settings import StoreSettings
from infra.store.database_file import writer_lock
with writer_lock(StoreSettings(folder=Path(sys.argv[1])), "annotate-nightly"):
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    print(child.pid, flush=True)
    input()
"""


@contextmanager
def holding(folder: Path) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """Yield a process that holds the lock of a store, and its child."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        try:
            yield process, child
        finally:
            process.kill()
            child.kill()


def test_a_second_writer_is_refused_by_the_name_of_the_first(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path / "store")
    with holding(store.folder) as (process, _):
        told = rf"annotate-nightly \(process {process.pid} on {os.uname().nodename}, since 2"
        with pytest.raises(StoreBusyError, match=told), writer_lock(store, "second"):
            pass


def test_a_killed_owner_leaves_nothing_that_stops_the_next(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path / "store")
    with holding(store.folder) as (process, child):
        process.kill()
        process.wait()
        assert child.is_running(), "a child outlives it and holds nothing"
        with writer_lock(store, "next"):
            assert (store.folder / "writer.lock").read_text().startswith("next (process ")


def test_an_error_of_the_owner_passes_through_and_frees_the_lock(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    with pytest.raises(OSError, match="mine"), writer_lock(store, "first"):
        raise OSError("mine")
    with writer_lock(store, "second"):
        pass


def test_two_stores_have_two_locks(tmp_path: Path) -> None:
    one, other = (StoreSettings(folder=tmp_path / name) for name in ("one", "other"))
    with writer_lock(one, "a"), writer_lock(other, "b"):
        for store in (one, other):
            with pytest.raises(StoreBusyError), writer_lock(store, "c"):
                pass


def test_a_patient_writer_takes_over_when_the_owner_ends(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    with holding(store.folder) as (process, _), ThreadPoolExecutor(1) as pool:
        pool.submit(_killed_soon, process)
        with writer_lock(store, "patient", patience_s=60):
            assert process.wait() != 0


def _killed_soon(process: subprocess.Popen[str]) -> None:
    time.sleep(0.5)
    process.kill()
