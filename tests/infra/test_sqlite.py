"""Laws of SQLite files that many processes share."""

import sqlite3
import threading
import time
from pathlib import Path

import pytest

from infra.sqlite import connect, journal_mode, patiently


def test_a_step_is_done_again_while_others_have_the_file_locked(tmp_path: Path) -> None:
    holder = sqlite3.connect(tmp_path / "file", isolation_level=None, check_same_thread=False)
    hasty = sqlite3.connect(tmp_path / "file", timeout=0, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    threading.Timer(0.1, holder.execute, ["ROLLBACK"]).start()
    patiently(lambda: hasty.execute("CREATE TABLE one (n)"), tmp_path / "file")
    assert time.monotonic() - started > 0.05
    holder.close()
    hasty.close()


def test_another_error_is_raised_at_once(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "file")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        patiently(lambda: connection.execute("SELECT * FROM lacking"), tmp_path / "file")
    connection.close()


def test_a_new_file_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    errors = list[Exception]()

    def open_it(file: Path, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            connect(file).close()
        except sqlite3.Error as error:
            errors.append(error)

    for number in range(50):
        barrier = threading.Barrier(4)
        given = tmp_path / str(number), barrier
        threads = [threading.Thread(target=open_it, args=given) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors


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
