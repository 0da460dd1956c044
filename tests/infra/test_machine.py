"""Laws of the resources that a stage's run is stored with."""

from pathlib import Path

import numpy as np

from infra.machine import memory_gb, peak_memory_mb, this_machine, working_machine
from infra.settings import StoreSettings
from infra.store import benchmarks, open_database


def test_a_run_is_stored_with_the_resources_that_it_had(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path))
    run = benchmarks.StageRun(collection="c", stage="s", items=3, seconds=2.0, codes=7)
    benchmarks.record_stage_run(database, run)
    (stored,) = benchmarks.last_stage_runs(database, "c")
    assert (stored.items, stored.seconds, stored.codes) == (3, 2.0, 7)
    assert stored.cores == working_machine().cores >= 1
    assert stored.peak_memory_mb is not None
    assert 10 < stored.peak_memory_mb <= peak_memory_mb()


def test_peak_memory_is_in_megabytes_and_does_not_fall() -> None:
    before = peak_memory_mb()
    held = np.ones(int(before * 1e6 + 60e6) // 8)
    assert peak_memory_mb() >= before + 55
    del held
    assert peak_memory_mb() >= before + 55


def test_this_machine_has_a_core_and_more_memory_than_this_process() -> None:
    assert this_machine().cores >= 1
    assert memory_gb() > peak_memory_mb() / 1000
