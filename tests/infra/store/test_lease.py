"""Laws of the writer's lease: one holder, named to others, gone with its process.

Covers `infra.store.runs`.
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
from infra.store.runs import lease_holder, writer_lease

# Holds the lease with a child of its own, as a flow does with Ray's workers.
HOLD = """
import subprocess, sys
from pathlib import Path
from infra.settings import StoreSettings
from infra.store.runs import writer_lease
with writer_lease(StoreSettings(folder=Path(sys.argv[1])), "annotate-nightly"):
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    print(child.pid, flush=True)
    input()
"""


@contextmanager
def holding(folder: Path) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """Yield a process that holds the lease of a store, and its child."""
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
        with pytest.raises(StoreBusyError, match=told), writer_lease(store, "second"):
            pass
        holder = lease_holder(store)
        assert holder is not None
        assert holder.name == "annotate-nightly"


def test_a_killed_holder_leaves_nothing_that_stops_the_next(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path / "store")
    with holding(store.folder) as (process, child):
        process.kill()
        process.wait()
        assert child.is_running(), "a child outlives it and holds nothing"
        assert lease_holder(store) is None
        with writer_lease(store, "next"):
            assert str(lease_holder(store)).startswith("next (process ")
    assert lease_holder(store) is None


def test_an_error_of_the_holder_passes_through_and_frees_the_lease(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    with pytest.raises(OSError, match="mine"), writer_lease(store, "first"):
        raise OSError("mine")
    assert lease_holder(store) is None
    assert (tmp_path / "writer.lock").read_bytes() == b""


def test_two_stores_have_two_leases(tmp_path: Path) -> None:
    one, other = (StoreSettings(folder=tmp_path / name) for name in ("one", "other"))
    with writer_lease(one, "a"), writer_lease(other, "b"):
        assert str(lease_holder(other)).startswith("b ")


def test_looking_at_the_lease_takes_it_from_no_writer(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    with writer_lease(store, "first"):
        pass

    def look() -> None:
        for _ in range(200):
            lease_holder(store)
            time.sleep(0.001)

    with ThreadPoolExecutor(2) as pool:
        looks = [pool.submit(look) for _ in range(2)]
        while not all(done.done() for done in looks):
            with writer_lease(store, "writer"):
                time.sleep(0.001)


def test_a_holder_that_has_not_signed_yet_is_a_holder(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    with writer_lease(store, "first"):
        (tmp_path / "writer.lock").write_bytes(b'{"name": "fi')
        with pytest.raises(StoreBusyError, match="by a run that has just begun"):
            writer_lease(store, "second").__enter__()


def test_a_patient_writer_takes_over_when_the_holder_ends(tmp_path: Path) -> None:
    store = StoreSettings(folder=tmp_path)
    with holding(store.folder) as (process, _), ThreadPoolExecutor(1) as pool:
        pool.submit(_killed_soon, process)
        with writer_lease(store, "patient", patience_s=60):
            assert process.wait() != 0


def _killed_soon(process: subprocess.Popen[str]) -> None:
    time.sleep(0.5)
    process.kill()
