"""Laws of the writer's lock: one owner, named to others, gone with its process.

Covers `infra.store.database_file`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from infra.errors import StoreBusyError
from infra.settings import StoreSettings
from infra.store.database_file import writer_lock

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
