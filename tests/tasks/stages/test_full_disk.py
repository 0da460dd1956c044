"""The law of a full disk: a command's files stay as they were, and the user is told what to do.

Covers `tasks.runtime.progress`.
"""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.collected import Streamed
from infra.errors import DiskFullError
from infra.records import Query
from infra.settings import PublishSettings, Settings, StoreSettings
from infra.store import corpus, generated, open_database
from infra.store.benchmarks import Published
from infra.store.database import TempTable
from tasks.benchmarks import write_benchmark
from tasks.reports.document import Document
from tasks.runtime.progress import write_pages
from tasks.stages.diff import compare_versions
from tasks.stages.generate.confirm import write_waiting
from tasks.stages.leaderboard import write_leaderboard
from tasks.stages.scoring import OpenBenchmark, leaderboard_folder
from tests.fakes.benchmarks import people_benchmark
from tests.infra.store.test_small_tables import INFO
from tests.tasks.stages.generate.world import answer, judged_store

pytestmark = pytest.mark.usefixtures("quiet")


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def exported(folder: Path) -> OpenBenchmark:
    manifest = write_benchmark(people_benchmark(), folder / "b")
    return OpenBenchmark(
        Published(
            benchmark_id=manifest.fingerprint, name="b", collection="", label_origin="people",
            folder=str(folder / "b"),
        )
    )  # fmt: skip


def fill_when_written(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the disk be full when half of the file of this name is written."""
    write = Path.write_text

    def written(self: Path, text: str, **options: Any) -> int:
        if name not in self.name:
            return write(self, text, **options)
        write(self, text[: len(text) // 2], **options)
        return int(full())

    monkeypatch.setattr(Path, "write_text", written)


def test_a_leaderboard_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(publish=PublishSettings(folder=tmp_path))
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    benchmark = exported(tmp_path)
    folder = leaderboard_folder(benchmark.published, settings.publish)
    folder.mkdir(parents=True)
    names = ("per_query.parquet", "leaderboard.html", "leaderboard.md", "unjudged.jsonl")
    for name in names:
        (folder / name).write_text("old")
    fill_when_written(monkeypatch, "unjudged.jsonl")
    with pytest.raises(DiskFullError, match="--output"):
        write_leaderboard.fn(database, benchmark, [], settings.scoring)
    assert {file.name: file.read_text() for file in folder.iterdir()} == dict.fromkeys(names, "old")


def test_a_comparison_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(publish=PublishSettings(folder=tmp_path))
    benchmark = exported(tmp_path)
    fill_when_written(monkeypatch, "flips.jsonl")
    with pytest.raises(DiskFullError, match="--output"):
        compare_versions.fn(benchmark, benchmark, [], [], settings.evaluation, settings.publish)
    assert [path for path in (tmp_path / "differences").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("name", ["study.html", "study.md", "study.json"])
def test_the_pages_of_a_report_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "study.html").write_text("old")
    fill_when_written(monkeypatch, name)
    with pytest.raises(DiskFullError, match="--output"):
        write_pages(tmp_path, "study", Document("t"), {"study.json": "{}"}, key="k", about="a")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("study.html", "old")]


def test_a_sheet_of_answers_that_finds_no_room_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, _ = judged_store(tmp_path)
    generated.add_answers(database, [(answer(1), ())])
    monkeypatch.setattr("tasks.stages.generate.confirm.write_answers", full)
    with pytest.raises(DiskFullError, match="--output"):
        write_waiting(database, "c", tmp_path)


def read_too_much() -> Iterator[Query]:
    while True:
        yield Query.of("find it")


@pytest.mark.parametrize("where", ["when it is made", "when it is written"])
def test_a_source_that_does_not_fit_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    method = "__init__" if where == "when it is made" else "_write"
    monkeypatch.setattr(TempTable, method, full)
    content = {"c": Streamed(INFO, read_too_much(), {})}
    with pytest.raises(DiskFullError, match=r"the disk of .*store is full.*--store"):
        corpus.replace_collections(database, "p", content, "c")
    monkeypatch.undo()
    assert corpus.collections_of(database, "p") == []
