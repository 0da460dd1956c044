"""Laws of exported folders: `writer`, and its `benchmark`, `tables`, `manifest` and `folder`."""

import multiprocessing
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from infra.errors import PublishError
from infra.records import Code, Label, Query
from tasks.benchmarks import (
    Benchmark,
    RecordedAnnotations,
    Undecided,
    benchmark_fingerprint,
    read_manifest,
    verify_export,
    write_benchmark,
)
from tasks.benchmarks.card import write_card
from tasks.benchmarks.manifest import Manifest
from tests.fakes.benchmarks import CODES, QUERIES, agents_benchmark, people_benchmark


def _bytes(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _shuffled(benchmark: Benchmark) -> Benchmark:
    reverse = {
        name: tuple(reversed(getattr(benchmark, name)))
        for name in ("queries", "codes", "labels", "sources", "undecided")
    }
    return benchmark.model_copy(update=reverse)


def test_parquet_gives_back_every_record(tmp_path: Path) -> None:
    benchmark = people_benchmark()
    write_benchmark(benchmark, tmp_path / "b")
    tables = {name: pq.read_table(tmp_path / "b" / f"{name}.parquet") for name in _TABLES}
    assert {Query.model_validate(row) for row in tables["queries"].to_pylist()} == set(QUERIES)
    assert {Code.model_validate(row) for row in tables["codes"].to_pylist()} == set(CODES)
    labels = {Label.model_validate(row) for row in tables["labels"].to_pylist()}
    assert labels == set(benchmark.labels)


_TABLES = ("queries", "codes", "labels")


def test_rows_are_sorted_by_id(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    labels = pq.read_table(tmp_path / "b" / "labels.parquet").to_pylist()
    keys = [(row["query_id"], row["code_id"]) for row in labels]
    assert keys == sorted(keys)


def test_the_same_benchmark_gives_the_same_bytes_in_whatever_order(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "a")
    write_benchmark(_shuffled(people_benchmark()), tmp_path / "b")
    assert _bytes(tmp_path / "a") == _bytes(tmp_path / "b")


def test_the_fingerprint_ignores_order_and_evidence_but_no_label() -> None:
    benchmark = agents_benchmark()
    same = _shuffled(benchmark).model_copy(update={"evidence": RecordedAnnotations(())})
    assert benchmark_fingerprint(same) == benchmark_fingerprint(benchmark)
    fewer = benchmark.model_copy(update={"labels": benchmark.labels[:1]})
    assert benchmark_fingerprint(fewer) != benchmark_fingerprint(benchmark)


def test_the_manifest_counts_and_names_what_is_there(tmp_path: Path) -> None:
    manifest = write_benchmark(agents_benchmark(), tmp_path / "b")
    assert manifest == read_manifest(tmp_path / "b")
    assert manifest.counts == {
        "queries": 3,
        "codes": 4,
        "labels": 2,
        "relevant": 1,
        "queries_with_relevant": 1,
        "undecided": 1,
        "failed": 2,
    }
    assert manifest.recipe == agents_benchmark().recipe
    assert manifest.fingerprint == benchmark_fingerprint(agents_benchmark())
    listed = {file.path for file in manifest.files}
    assert listed == set(_bytes(tmp_path / "b")) - {"manifest.json"}


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    verify_export(tmp_path / "b")
    qrels = tmp_path / "b" / "beir" / "qrels" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("\t0\n", "\t1\n"))
    with pytest.raises(PublishError, match=r"test\.tsv was changed"):
        verify_export(tmp_path / "b")


def test_a_lost_file_is_found(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    (tmp_path / "b" / "codes.parquet").unlink()
    with pytest.raises(PublishError, match=r"lost codes\.parquet"):
        verify_export(tmp_path / "b")


@pytest.mark.parametrize("content", ["", "{", '{"name": 1}'])
def test_a_malformed_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(PublishError, match="not a manifest"):
        read_manifest(tmp_path)


def test_a_folder_without_a_manifest_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="no exported benchmark"):
        read_manifest(tmp_path)


def test_an_export_of_another_format_is_refused(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    file = tmp_path / "b" / "manifest.json"
    file.write_text(file.read_text().replace('"format_version": 2', '"format_version": 99'))
    with pytest.raises(PublishError, match="export format 99"):
        read_manifest(tmp_path / "b")


def test_undecided_pairs_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    benchmark = agents_benchmark()
    assert not write_benchmark(benchmark, folder).undecided_listed
    assert not (folder / "undecided.parquet").exists()
    assert write_benchmark(benchmark, folder, include_undecided=True).undecided_listed
    rows = pq.read_table(folder / "undecided.parquet").to_pylist()
    assert [row["reason"] for row in rows] == ["unreadable"]
    qrels = (folder / "beir" / "qrels" / "test.tsv").read_text()
    assert rows[0]["query_id"] not in qrels


def test_evidence_keeps_calls_and_executions(tmp_path: Path) -> None:
    write_benchmark(agents_benchmark(), tmp_path / "b")
    (row,) = pq.read_table(tmp_path / "b" / "evidence.parquet").to_pylist()
    assert row["calls"][0]["reply"] == "unclear"
    assert row["calls"][0]["cost_usd"] is None
    assert row["executions"][0]["outcome"] == "passed"
    assert row["executions"][0]["requirements"] == ["numpy"]


def _fail_half_way(*_arguments: object) -> None:
    raise OSError("no space left")


def test_a_failure_in_the_middle_leaves_the_older_export_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "b"
    write_benchmark(people_benchmark(), folder)
    before = _bytes(folder)
    monkeypatch.setattr("tasks.benchmarks.writer.write_card", _fail_half_way)
    fewer = people_benchmark().model_copy(update={"labels": people_benchmark().labels[:1]})
    with pytest.raises(OSError, match="no space left"):
        write_benchmark(fewer, folder)
    assert _bytes(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_failure_in_the_middle_of_a_first_export_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.benchmarks.writer.write_card", _fail_half_way)
    with pytest.raises(OSError, match="no space left"):
        write_benchmark(people_benchmark(), tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_traces_of_a_killed_export_are_cleared(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    before = _bytes(tmp_path / "b")
    (tmp_path / ".b.partial").mkdir()
    (tmp_path / ".b.partial" / "half").write_text("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.benchmarks.writer.write_card", _fail_half_way)
        with pytest.raises(OSError, match="no space left"):
            write_benchmark(people_benchmark(), tmp_path / "b")
    assert _bytes(tmp_path / "b") == before
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_an_export_that_a_killed_process_had_put_aside_comes_back(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    before = _bytes(tmp_path / "b")
    (tmp_path / "b").rename(tmp_path / ".b.former")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.benchmarks.writer.write_card", _fail_half_way)
        with pytest.raises(OSError, match="no space left"):
            write_benchmark(people_benchmark(), tmp_path / "b")
    assert _bytes(tmp_path / "b") == before
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_changed_benchmark_replaces_the_older_export(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    write_benchmark(people_benchmark(), folder)
    fewer = people_benchmark().model_copy(update={"labels": people_benchmark().labels[:1]})
    assert write_benchmark(fewer, folder) == verify_export(folder)
    assert verify_export(folder).counts["labels"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_an_equal_export_stays_with_its_runs_and_a_damaged_one_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    write_benchmark(people_benchmark(), folder)
    (folder / "runs").mkdir()
    inode = folder.stat().st_ino
    write_benchmark(people_benchmark(), folder)
    assert folder.stat().st_ino == inode
    (folder / "README.md").write_text("changed")
    write_benchmark(people_benchmark(), folder)
    assert folder.stat().st_ino != inode
    verify_export(folder)


@pytest.mark.parametrize(
    ("is_export", "name", "text"),
    [
        (False, "thesis.txt", "precious"),
        (False, "manifest.json", '{"name": "a web application", "files": []}'),
        (True, "notes.md", "precious"),
        (True, "beir/my-qrels.tsv", "precious"),
    ],
)
def test_a_folder_with_files_of_others_is_never_replaced(
    tmp_path: Path, is_export: bool, name: str, text: str
) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    if is_export:
        write_benchmark(people_benchmark(), folder)
    (folder / name).write_text(text)
    before = _bytes(folder)
    fewer = people_benchmark().model_copy(update={"labels": people_benchmark().labels[:1]})
    with pytest.raises(PublishError, match=r"move (it|the folder) away"):
        write_benchmark(fewer, folder)
    assert _bytes(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_files_of_others_that_come_while_an_export_is_written_are_kept(tmp_path: Path) -> None:
    def writes_beside(manifest: Manifest, folder: Path) -> None:
        (tmp_path / "b" / "notes.md").write_text("precious")
        write_card(manifest, folder)

    write_benchmark(people_benchmark(), tmp_path / "b")
    fewer = people_benchmark().model_copy(update={"labels": people_benchmark().labels[:1]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.benchmarks.writer.write_card", writes_beside)
        with pytest.raises(PublishError, match=r"has notes\.md"):
            write_benchmark(fewer, tmp_path / "b")
    assert (tmp_path / "b" / "notes.md").read_text() == "precious"


def test_a_place_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    place = tmp_path / "b"
    place.symlink_to(tmp_path / "disk")
    for labels in (2, 1):
        some = people_benchmark().model_copy(update={"labels": people_benchmark().labels[:labels]})
        write_benchmark(some, place)
        assert place.is_symlink()
        assert verify_export(tmp_path / "disk").counts["labels"] == labels


def test_two_processes_exporting_at_once_leave_one_whole_export(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_export_again_and_again, args=(tmp_path / "b", labels))
        for labels in (1, 2, 3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    verify_export(tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def _export_again_and_again(folder: Path, labels: int) -> None:
    benchmark = people_benchmark()
    some = benchmark.model_copy(update={"labels": benchmark.labels[:labels]})
    for _ in range(5):
        write_benchmark(some, folder)


_OTHER = Label(query_id="q0", code_id="c0", origin="people", relevance=1)
_FIRST = people_benchmark().labels[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ()}, "has no labels"),
        ({"labels": (_OTHER,)}, "does not hold both records"),
        ({"labels": (_FIRST, _FIRST)}, "pair ids more than once"),
        ({"label_origin": "documentation"}, "one benchmark for each origin"),
        ({"queries": (*QUERIES, QUERIES[0])}, "query ids more than once"),
        ({"codes": (*CODES, CODES[0])}, "code ids more than once"),
        (
            {
                "undecided": (
                    Undecided(query_id=_FIRST.query_id, code_id=_FIRST.code_id, reason=""),
                )
            },
            "pair ids more than once",
        ),
    ],
)
def test_a_benchmark_that_contradicts_itself_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(PublishError, match=message):
        write_benchmark(people_benchmark().model_copy(update=change), tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_an_export_can_be_moved(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    shutil.move(tmp_path / "b", tmp_path / "elsewhere")
    verify_export(tmp_path / "elsewhere")
