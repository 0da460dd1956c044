"""A signal that arrives while DuckDB works ends the program as one that arrives elsewhere.

Covers `infra.store.database`, `infra.store.database`.
"""

import os
import signal
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.database import Transaction

SECONDS_OF_WORK = "SELECT count(*) FROM range(60_000) a, range(50_000) b WHERE a.range > b.range"


def interrupted(tx: Transaction) -> None:
    """Send Ctrl-C's signal to this process while DuckDB is at a query."""
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    tx.value(SECONDS_OF_WORK)


def test_ctrl_c_within_a_query_is_an_interrupt_and_the_store_stays_usable(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored under a shell's `&`
    try:
        with pytest.raises(KeyboardInterrupt), database.transaction() as tx:
            interrupted(tx)
    finally:
        signal.signal(signal.SIGINT, before)
    with database.transaction() as tx:
        assert tx.value("SELECT 1") == 1


def test_ctrl_c_while_the_file_is_opened_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = StoreSettings(folder=tmp_path / "store")
    database = open_database(settings)

    def interrupted_by_duckdb(*_: object) -> NoReturn:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("infra.store.database._open", interrupted_by_duckdb)
    with pytest.raises(KeyboardInterrupt), database.transaction():
        pass
    with pytest.raises(KeyboardInterrupt):
        open_database(settings)
