import json
from pathlib import Path

import pytest

from infra.errors import PublishError
from tasks.benchmarks import (
    benchmark_fingerprint,
    read_benchmark,
    read_manifest,
    write_benchmark,
)
from tasks.benchmarks.benchmark import Benchmark
from tests.fakes.benchmarks import agents_benchmark, people_benchmark


@pytest.mark.parametrize("benchmark", [people_benchmark(), agents_benchmark()])
def test_an_export_is_read_back_as_what_it_was_written_from(
    tmp_path: Path, benchmark: Benchmark
) -> None:
    write_benchmark(benchmark, tmp_path / "b", include_undecided=True)
    read = read_benchmark(tmp_path / "b")
    assert benchmark_fingerprint(read) == benchmark_fingerprint(benchmark)
    assert list(read.evidence) == list(benchmark.evidence)
    assert (read.undecided, read.failed, read.dropped) == (
        benchmark.undecided,
        benchmark.failed,
        benchmark.dropped,
    )


def test_a_changed_export_is_refused(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    (tmp_path / "b" / "labels.parquet").write_bytes(b"")
    with pytest.raises(PublishError, match=r"labels.parquet was changed"):
        read_benchmark(tmp_path / "b")


@pytest.mark.parametrize("name", ["../../elsewhere", "a\0b", "", "a\x1b[31m"])
def test_an_export_whose_name_is_no_folder_s_is_refused(tmp_path: Path, name: str) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    file = tmp_path / "b" / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "name": name}))
    with pytest.raises(PublishError, match="is not a manifest"):
        read_manifest(tmp_path / "b")


def test_an_export_of_before_there_were_recipes_of_labels_is_read(tmp_path: Path) -> None:
    written = write_benchmark(agents_benchmark(), tmp_path / "b")
    file = tmp_path / "b" / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    for later in ("recipes", "removed"):
        del manifest[later]
    file.write_text(json.dumps(manifest), encoding="utf-8")
    assert read_manifest(tmp_path / "b") == written
    assert read_benchmark(tmp_path / "b").recipes == ()
