"""Laws of the resources that a stage's run is stored with."""

import sys
from pathlib import Path
from threading import Event
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from infra import machine
from infra.machine import peak_memory_mb, this_machine
from infra.settings import StoreSettings
from infra.store import benchmarks, open_database


def test_a_run_is_stored_with_the_resources_that_it_had(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    run = benchmarks.StageRun(collection="c", stage="s", items=3, seconds=2.0, codes=7)
    benchmarks.record_stage_run(database, run)
    (stored,) = benchmarks.last_stage_runs(database, "c")
    assert (stored.items, stored.seconds, stored.codes) == (3, 2.0, 7)
    here = machine.working_machine()
    assert here is not None
    assert (stored.cores, stored.gpus) == (here.cores, here.gpus)
    assert stored.peak_memory_mb is not None
    assert 10 < stored.peak_memory_mb <= peak_memory_mb()


def test_peak_memory_is_in_megabytes_and_does_not_fall() -> None:
    before = peak_memory_mb()
    held = np.ones(int(before * 1e6 + 60e6) // 8)
    assert peak_memory_mb() >= before + 55
    del held
    assert peak_memory_mb() >= before + 55


def test_this_machine_has_a_core() -> None:
    assert this_machine().cores >= 1


def test_ray_that_another_thread_imports_is_no_cluster_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    assert machine.working_machine() == this_machine()


def test_a_cluster_that_does_not_answer_holds_no_run_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_answer() -> dict[str, float]:
        Event().wait()
        return {}

    def fail() -> dict[str, float]:
        raise ConnectionError("the head is gone")

    monkeypatch.setattr(machine, "_PATIENCE_S", 0.05)
    for ask in (never_answer, fail):
        lost = SimpleNamespace(is_initialized=lambda: True, cluster_resources=ask)
        monkeypatch.setitem(sys.modules, "ray", lost)
        assert machine.used_resources()["cores"] is None
    monkeypatch.setattr(machine, "_PATIENCE_S", 60.0)
    answering = SimpleNamespace(
        is_initialized=lambda: True, cluster_resources=lambda: {"CPU": 12.0, "GPU": 2.0}
    )
    monkeypatch.setitem(sys.modules, "ray", answering)
    assert machine.working_machine() == machine.Machine(cores=12, gpus=2)
