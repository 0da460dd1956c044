"""Laws of SQLite files that many processes share."""

import sqlite3
import threading
import time
from pathlib import Path

import pytest

from infra.sqlite import connect, patiently


def test_a_step_is_done_again_while_others_have_the_file_locked(tmp_path: Path) -> None:
    holder = sqlite3.connect(tmp_path / "file", isolation_level=None, check_same_thread=False)
    hasty = sqlite3.connect(tmp_path / "file", timeout=0, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    threading.Timer(0.1, holder.execute, ["ROLLBACK"]).start()
    patiently(lambda: hasty.execute("CREATE TABLE one (n)"))
    assert time.monotonic() - started > 0.05
    holder.close()
    hasty.close()


def test_another_error_is_raised_at_once(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "file")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        patiently(lambda: connection.execute("SELECT * FROM lacking"))
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
