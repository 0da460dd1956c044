"""Laws of exports from elsewhere: what a manifest says is compared with what is there.

Each export here is spoiled and sealed again: its manifest has the right checksum of every file.
Covers `tasks.inputs.tables`.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from infra.errors import PublishError
from tasks.benchmarks import benchmark_fingerprint, read_manifest, verify_export, write_benchmark
from tasks.benchmarks.benchmark import Benchmark
from tasks.inputs import formats
from tasks.inputs.formats.export import read_benchmark, read_exported
from tests.fakes.benchmarks import agents_benchmark, people_benchmark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_benchmark(agents_benchmark(), tmp_path / "b", include_undecided=True)
    return tmp_path / "b"


def state(folder: Path, **changes: object) -> None:
    """Change what a manifest says."""
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changes), "utf-8")


def seal(folder: Path) -> None:
    """Give the manifest the sizes and checksums of the files that it lists."""
    entries = []
    for entry in json.loads((folder / "manifest.json").read_text("utf-8"))["files"]:
        content = (folder / entry["path"]).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        entries.append({"path": entry["path"], "size": len(content), "sha256": digest})
    state(folder, files=entries)


def change(folder: Path, name: str, spoil: Callable[[pa.Table], pa.Table]) -> None:
    file = folder / f"{name}.parquet"
    pq.write_table(spoil(pq.read_table(file)), file)
    seal(folder)


def turned(table: pa.Table) -> pa.Table:
    return set_column(table, "relevance", pc.subtract(1.0, table["relevance"]))


def set_column(table: pa.Table, name: str, values: object) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


@pytest.mark.parametrize(
    "changes",
    [
        *({"fingerprint": f} for f in ("x/../../../../tmp/pwn", "", "a" * 19, "a" * 65, "A" * 20)),
        *({"fingerprint": f} for f in ("a" * 20 + "\n", "../" + "a" * 20)),
        *({"name": name} for name in ("../../elsewhere", "a\0b", "", "a\x1b[31m")),
        *({"counts": counts} for counts in ({}, {"queries": 3}, {"queries": "many"})),
    ],
)
def test_a_name_or_a_fingerprint_is_no_path_and_a_manifest_without_counts_is_none(
    folder: Path, changes: dict[str, object]
) -> None:
    state(folder, **changes)
    with pytest.raises(PublishError, match="is not a manifest"):
        read_manifest(folder)


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", "..", "a//b", "a\0b", ""])
def test_a_listed_file_is_below_the_folder(folder: Path, path: str) -> None:
    state(folder, files=[{"path": path, "size": 1, "sha256": "0" * 64}])
    with pytest.raises(PublishError, match="is not a manifest"):
        verify_export(folder)


def test_a_listed_file_whose_name_no_disk_takes_is_an_error(folder: Path) -> None:
    state(folder, files=[{"path": "a" * 5_000, "size": 1, "sha256": "0" * 64}])
    with pytest.raises(PublishError, match="cannot be read"):
        verify_export(folder)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("labels", turned),
        ("labels", lambda table: table.slice(1)),
        ("codes", lambda t: set_column(t, "text", pa.array(["def f(): 1"] * len(t)))),
        ("queries", lambda t: set_column(t, "text", pc.utf8_reverse(t["text"]))),
        ("undecided", lambda t: set_column(t, "reason", pa.array(["none"]))),
    ],
)
def test_other_records_under_an_honest_fingerprint_are_refused(
    folder: Path, name: str, spoil: Callable[[pa.Table], pa.Table]
) -> None:
    change(folder, name, spoil)
    with pytest.raises(PublishError, match="holds another benchmark than"):
        read_benchmark(folder)


@pytest.mark.parametrize("changes", [{"name": "other"}, {"label_origin": "o"}, {"recipe": {}}])
def test_a_manifest_about_another_benchmark_is_refused(
    folder: Path, changes: dict[str, object]
) -> None:
    state(folder, **changes)
    with pytest.raises(PublishError, match="holds another benchmark than"):
        read_benchmark(folder)


@pytest.mark.parametrize("listed", [True, False])
def test_undecided_pairs_are_vouched_for_whether_listed_or_not(
    tmp_path: Path, *, listed: bool
) -> None:
    benchmark = agents_benchmark()
    write_benchmark(benchmark, tmp_path / "b", include_undecided=listed)
    assert len(read_benchmark(tmp_path / "b").undecided) == listed
    change(tmp_path / "b", "labels", turned)
    with pytest.raises(PublishError, match="holds another benchmark than"):
        read_benchmark(tmp_path / "b")


@pytest.mark.parametrize("name", ["queries", "codes", "labels", "undecided"])
def test_a_table_that_is_not_listed_is_no_empty_one(folder: Path, name: str) -> None:
    (folder / f"{name}.parquet").unlink()
    files = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    state(folder, files=[item for item in files if item["path"] != f"{name}.parquet"])
    with pytest.raises(PublishError, match=rf"does not list {name}\.parquet"):
        read_benchmark(folder)


@pytest.mark.parametrize("name", ["evidence", "splits", "undecided", "anything"])
def test_a_table_that_is_not_listed_is_refused(tmp_path: Path, name: str) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    pq.write_table(pa.table({"query_id": ["q"]}), tmp_path / "b" / f"{name}.parquet")
    with pytest.raises(PublishError, match=rf"{name}\.parquet is no part of the export"):
        read_benchmark(tmp_path / "b")


def _without(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([name])


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("labels", _without("relevance")),
        ("labels", _without("query_id")),
        ("labels", lambda t: set_column(t, "relevance", pa.array(["much", "little"]))),
        ("labels", lambda t: set_column(t, "relevance", pa.nulls(2, pa.float64()))),
        ("labels", lambda t: set_column(t, "query_id", pa.nulls(2, pa.string()))),
        ("codes", lambda t: set_column(t, "text", pa.array([b"\xff"] * len(t), pa.binary()))),
        ("codes", lambda t: set_column(t, "text", pa.array([""] * len(t)))),
        ("codes", lambda t: set_column(t, "first_line", pa.array([2**40] * len(t)))),
        ("codes", lambda t: set_column(t, "parameters", pa.array(["x"] * len(t)))),
        ("queries", lambda t: pa.table({"": [1]})),
    ],
)
def test_a_table_with_other_columns_names_its_file(
    folder: Path, name: str, spoil: Callable[[pa.Table], pa.Table]
) -> None:
    change(folder, name, spoil)
    with pytest.raises(PublishError, match=rf"{name}\.parquet cannot be read"):
        read_benchmark(folder)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 9, b"\0" * 99])
@pytest.mark.parametrize("name", ["labels", "queries", "undecided"])
def test_what_is_no_parquet_names_its_file(folder: Path, name: str, content: bytes) -> None:
    (folder / f"{name}.parquet").write_bytes(content)
    seal(folder)
    with pytest.raises(PublishError, match=rf"{name}\.parquet cannot be read"):
        read_benchmark(folder)
    with pytest.raises(PublishError, match=rf"{name}\.parquet cannot be read"):
        read_exported(folder, name, ["query_id"])


def test_rotten_evidence_names_its_file_when_it_is_read(folder: Path) -> None:
    change(folder, "evidence", lambda t: set_column(t, "status", pa.array(["surely"])))
    evidence = read_benchmark(folder).evidence
    with pytest.raises(PublishError, match=r"evidence\.parquet cannot be read"):
        list(evidence)
    (folder / "evidence.parquet").write_bytes(b"none")
    seal(folder)
    for read in (len, list):
        with pytest.raises(PublishError, match=r"evidence\.parquet cannot be read"):
            read(evidence)


def test_a_manifest_that_counts_wrongly_is_refused(folder: Path) -> None:
    counts = read_manifest(folder).counts
    state(folder, counts=counts | {"codes": 3})
    with pytest.raises(PublishError, match=r"manifest\.json is wrong about codes"):
        read_benchmark(folder)


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


@pytest.mark.parametrize("lacking", [{"recipes"}, {"code_base", "splits"}])
def test_an_export_of_an_earlier_release_is_still_read(tmp_path: Path, lacking: set[str]) -> None:
    written = write_benchmark(agents_benchmark(), tmp_path / "b")
    file = tmp_path / "b" / "manifest.json"
    file.write_text(written.model_dump_json(exclude=lacking), "utf-8")
    assert read_manifest(tmp_path / "b") == written
    assert read_benchmark(tmp_path / "b").recipes == ()


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_the_beir_folder_of_an_export_is_read_as_published_and_refused_once_changed(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = formats.read(folder / "beir")
    state(folder, format_version=1)
    assert formats.read(folder / "beir") == whole, "of another release"
    file = folder / "beir" / name
    file.write_bytes(file.read_bytes() + b"\n")
    refused = f"{re.escape(str(file))} was changed since it was exported: publish again, or copy"
    with pytest.raises(PublishError, match=refused):
        formats.read(folder / "beir")
    monkeypatch.chdir(folder / "beir")
    for path in (Path(), Path("qrels/test.tsv")):
        with pytest.raises(PublishError, match=refused):
            formats.read(path)
    shutil.copytree(folder / "beir", folder.parent / "copy")
    assert formats.read(folder.parent / "copy").labels == whole.labels


def test_a_file_put_into_the_beir_folder_of_an_export_is_refused(folder: Path) -> None:
    test = folder / "beir" / "qrels" / "test.tsv"
    test.rename(test.with_name("mine.tsv"))
    with pytest.raises(PublishError, match=r"mine\.tsv is no part of the export, whose manifest"):
        formats.read(folder / "beir")


@pytest.mark.parametrize("manifest", ["{}", "[1]", '{"files": [{"path": "other/corpus.jsonl"}]}'])
def test_a_beir_folder_beside_a_manifest_of_others_is_read(folder: Path, manifest: str) -> None:
    (folder / "manifest.json").write_text(manifest, "utf-8")
    test = folder / "beir" / "qrels" / "test.tsv"
    test.write_bytes(test.read_bytes() + b"\n")
    assert formats.read(folder / "beir").labels
    write_benchmark(people_benchmark(), folder.parent / "c")
    (folder / "beir").rename(folder.parent / "c" / "mine")
    assert formats.read(folder.parent / "c" / "mine").labels, "no part of the export that it is in"
