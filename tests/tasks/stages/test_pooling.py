"""Laws of what may be pooled: only a benchmark whose pairs the store knows.

Covers `tasks.stages.pooling`.
"""

from pathlib import Path

import pytest

from infra.errors import PublishError
from infra.ids import BenchmarkId
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.benchmarks import Published
from tasks.benchmarks import write_benchmark
from tasks.stages.pooling import check_pooling
from tasks.stages.scoring import OpenBenchmark
from tests.fakes.benchmarks import people_benchmark


def opened(folder: Path, fingerprint: str, collection: str) -> OpenBenchmark:
    return OpenBenchmark(
        Published(
            benchmark_id=BenchmarkId(fingerprint),
            name="toy-people",
            collection=collection,
            label_origin="people",
            folder=str(folder),
        )
    )


def test_a_benchmark_of_another_store_is_not_pooled(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    made, now = people_benchmark(), tmp_path / "now"
    fingerprint = write_benchmark(made, now).fingerprint
    check_pooling(database, opened(now, fingerprint, "c"))
    with pytest.raises(PublishError, match=r"not published from the store.*--store"):
        check_pooling(database, opened(now, fingerprint, ""))
