"""A signal that arrives while DuckDB works ends the program as one that arrives elsewhere.

Covers `infra.store.database_file`.
"""

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from infra.settings import StoreSettings
from infra.store import open_database

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
