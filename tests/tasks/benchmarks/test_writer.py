"""Laws of exported folders: `writer`, and its `benchmark`, `manifest` and dataset `card`."""

import csv
import json
import multiprocessing
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from markdown_it import MarkdownIt

from infra.errors import PublishError
from infra.records import Code, Label, Query, Record, SourceInfo, Support
from tasks.benchmarks import (
    Benchmark,
    RecordedAnnotations,
    Undecided,
    benchmark_fingerprint,
    read_manifest,
    verify_export,
    write_benchmark,
)
from tasks.benchmarks.benchmark import LabelRecipe
from tasks.benchmarks.card import write_card
from tasks.benchmarks.manifest import Manifest
from tests.fakes.benchmarks import CODES, QUERIES, SOURCE, agents_benchmark, people_benchmark


def _bytes(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _fewer(labels: int = 1) -> Benchmark:
    """Return another benchmark of that name, with the first labels alone."""
    made = people_benchmark()
    return made.model_copy(update={"labels": made.labels[:labels]})


def _shuffled(benchmark: Benchmark) -> Benchmark:
    reverse = {
        name: tuple(reversed(getattr(benchmark, name)))
        for name in ("queries", "codes", "labels", "sources", "undecided")
    }
    return benchmark.model_copy(update=reverse)


def test_parquet_gives_back_every_record_sorted_by_id(tmp_path: Path) -> None:
    benchmark = people_benchmark()
    write_benchmark(benchmark, tmp_path / "b")
    tables: list[tuple[str, type[Record], Sequence[Record]]] = [
        ("queries", Query, QUERIES), ("codes", Code, CODES), ("labels", Label, benchmark.labels),
    ]  # fmt: skip
    for name, kind, records in tables:
        rows = pq.read_table(tmp_path / "b" / f"{name}.parquet").to_pylist()
        assert {kind.model_validate(row) for row in rows} == set(records)
        keys = [[row[key] for key in ("query_id", "code_id") if key in row] for row in rows]
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


def test_a_changed_byte_and_a_lost_file_are_found(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    verify_export(tmp_path / "b")
    qrels = tmp_path / "b" / "beir" / "qrels" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("\t0\n", "\t1\n"))
    with pytest.raises(PublishError, match=r"test\.tsv was changed"):
        verify_export(tmp_path / "b")
    qrels.unlink()
    with pytest.raises(PublishError, match=r"lost beir/qrels/test\.tsv"):
        verify_export(tmp_path / "b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no exported benchmark"),
        ("", "not a manifest"),
        ("{", "not a manifest"),
        ('{"name": 1}', "not a manifest"),
    ],
)
def test_a_folder_without_a_manifest_or_with_a_malformed_one_is_no_export(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(PublishError, match=message):
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


def _killed_within(folder: Path) -> None:
    (folder / ".b.partial").mkdir()
    (folder / ".b.partial" / "half").write_text("written")


def _killed_between_two_names(folder: Path) -> None:
    (folder / "b").rename(folder / ".b.former")


@pytest.mark.parametrize(
    "before", [lambda _folder: None, _killed_within, _killed_between_two_names]
)
def test_a_failure_leaves_the_older_export_whole_and_no_trace_of_killed_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: Callable[[Path], None]
) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    whole = _bytes(tmp_path / "b")
    before(tmp_path)
    monkeypatch.setattr("tasks.benchmarks.writer.write_card", _fail_half_way)
    with pytest.raises(OSError, match="no space left"):
        write_benchmark(_fewer(), tmp_path / "b")
    assert _bytes(tmp_path / "b") == whole
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_failure_in_the_middle_of_a_first_export_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.benchmarks.writer.write_card", _fail_half_way)
    with pytest.raises(OSError, match="no space left"):
        write_benchmark(people_benchmark(), tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_changed_benchmark_replaces_the_older_export_which_can_be_moved(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    write_benchmark(people_benchmark(), folder)
    assert write_benchmark(_fewer(), folder) == verify_export(folder)
    assert verify_export(folder).counts["labels"] == 1
    shutil.move(folder, tmp_path / "elsewhere")
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
    verify_export(tmp_path / "elsewhere")


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
    with pytest.raises(PublishError, match=r"move (it|the folder) away"):
        write_benchmark(_fewer(), folder)
    assert _bytes(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_files_of_others_that_come_while_an_export_is_written_are_kept(tmp_path: Path) -> None:
    def writes_beside(manifest: Manifest, folder: Path) -> None:
        (tmp_path / "b" / "notes.md").write_text("precious")
        write_card(manifest, folder)

    write_benchmark(people_benchmark(), tmp_path / "b")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.benchmarks.writer.write_card", writes_beside)
        with pytest.raises(PublishError, match=r"has notes\.md"):
            write_benchmark(_fewer(), tmp_path / "b")
    assert (tmp_path / "b" / "notes.md").read_text() == "precious"


def test_a_place_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    place = tmp_path / "b"
    place.symlink_to(tmp_path / "disk")
    for labels in (2, 1):
        write_benchmark(_fewer(labels), place)
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
    for _ in range(5):
        write_benchmark(_fewer(labels), folder)


_OTHER = Label(query_id="q0", code_id="c0", origin="people", relevance=1)
_FIRST = people_benchmark().labels[0]
_TWICE = Undecided(query_id=_FIRST.query_id, code_id=_FIRST.code_id, reason="")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ()}, "has no labels"),
        ({"labels": (_OTHER,)}, "does not hold both records"),
        ({"labels": (_FIRST, _FIRST)}, "pair ids more than once"),
        ({"label_origin": "documentation"}, "one benchmark for each origin"),
        ({"queries": (*QUERIES, QUERIES[0])}, "query ids more than once"),
        ({"codes": (*CODES, CODES[0])}, "code ids more than once"),
        ({"undecided": (_TWICE,)}, "pair ids more than once"),
    ],
)
def test_a_benchmark_that_contradicts_itself_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(PublishError, match=message):
        write_benchmark(people_benchmark().model_copy(update=change), tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def _card(folder: Path, benchmark: Benchmark, **changes: object) -> tuple[dict[str, Any], str]:
    """Return the front matter and the body of a benchmark's card."""
    write_benchmark(benchmark.model_copy(update=changes), folder / "b", include_undecided=True)
    _, front, body = (folder / "b" / "README.md").read_text("utf-8").split("---\n", 2)
    matter: dict[str, Any] = yaml.safe_load(front)
    return matter, body


def test_every_parquet_file_is_a_configuration_that_exists(tmp_path: Path) -> None:
    matter, _ = _card(tmp_path, agents_benchmark())
    paths = {config["data_files"][0]["path"] for config in matter["configs"]}
    assert paths == {path.name for path in (tmp_path / "b").glob("*.parquet")}


@pytest.mark.parametrize(
    ("licences", "expected"),
    [
        (["MIT"], ("mit", None)),
        (["CC BY 4.0"], ("cc-by-4.0", None)),
        (["House rules"], ("other", "House rules")),
        (["C-UDA"], ("c-uda", None)),
        (["PSF-2.0", "MIT"], ("other", "MIT; PSF-2.0")),
        (['odd: "quoted"\n---'], ("other", 'odd: "quoted"\n---')),
    ],
)
def test_the_licence_is_one_that_is_listed_or_other_with_its_name(
    tmp_path: Path, licences: list[str], expected: tuple[str, str | None]
) -> None:
    sources = tuple(SOURCE.model_copy(update={"licence": licence}) for licence in licences)
    matter, _ = _card(tmp_path, people_benchmark(), sources=sources)
    assert (matter["license"], matter.get("license_name")) == expected


@pytest.mark.parametrize("former", [(), (LabelRecipe(recipe_id="r2", origin="o", body={}),)])
def test_whose_a_recorded_models_replies_are_is_said(
    tmp_path: Path, former: tuple[LabelRecipe, ...]
) -> None:
    replies = {"by": "AI assistants <b>wrote</b> them.", "mark": "0"}
    body = {"model": {"model": "recorded/x"}, "replies": replies}
    recorded = LabelRecipe(recipe_id="r1", origin="agents:r1", body=body)
    _, text = _card(tmp_path, agents_benchmark(), recipes=(recorded, *former))
    said = MarkdownIt("commonmark").render(text)
    assert "The replies of recorded/x were recorded: AI assistants &lt;b&gt;wrote" in said


def test_only_recorded_models_have_recorded_replies(tmp_path: Path) -> None:
    assert "were recorded" not in _card(tmp_path, agents_benchmark())[1]


@pytest.mark.parametrize(
    ("support", "words"),
    [
        ("screened", "reading alone"),
        ("valid_oracle", "a run of programs that passed the gates"),
        ("overruled", "an arbiter, against a run of programs that passed the gates"),
        ("void_oracle", "a run that a gate doubts"),
        ("ungated", "agents that have no gates"),
        ("undecided", "nothing: no judgement was made"),
    ],
)
def test_judgements_are_counted_by_what_they_rest_on(
    tmp_path: Path, support: Support, words: str
) -> None:
    benchmark = agents_benchmark()
    of_support = [item.model_copy(update={"support": support}) for item in benchmark.evidence]
    _, body = _card(tmp_path, benchmark, evidence=RecordedAnnotations(tuple(of_support)))
    assert f"| {words} | 1 |" in body


def test_sources_and_drops_are_shown_and_cannot_break_out_of_their_table(tmp_path: Path) -> None:
    hostile = SourceInfo(
        name="a | b", licence="MIT", revision="`1`", location="</td><script>alert(1)</script>\n\nx"
    )
    _, body = _card(tmp_path, people_benchmark(), sources=(hostile,))
    html = MarkdownIt("gfm-like", {"linkify": False}).render(body)
    assert "<script>" not in html
    assert "<td>a | b</td>" in html
    assert "short" in html


def test_a_recipe_cannot_break_out_of_its_block(tmp_path: Path) -> None:
    _, body = _card(tmp_path, agents_benchmark())
    html = MarkdownIt("gfm-like", {"linkify": False}).render(body)
    assert html.count("<h1>") == 1
    assert "# not a heading" in html


def rows_of(file: Path) -> list[dict[str, str]]:
    # Split at line feeds alone: a function may hold U+2028, which splitlines would break at.
    return [json.loads(line) for line in file.read_text("utf-8").strip("\n").split("\n")]


def test_corpus_and_queries_have_the_keys_that_beir_reads(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    corpus = rows_of(tmp_path / "b" / "beir" / "corpus.jsonl")
    assert {row["_id"]: row["text"] for row in corpus} == {c.code_id: c.text for c in CODES}
    assert {row["title"] for row in corpus} == {""}
    queries = rows_of(tmp_path / "b" / "beir" / "queries.jsonl")
    assert {row["_id"]: row["text"] for row in queries} == {q.query_id: q.text for q in QUERIES}


def test_qrels_hold_every_judgement_zeros_included(tmp_path: Path) -> None:
    benchmark = people_benchmark()
    write_benchmark(benchmark, tmp_path / "b")
    with (tmp_path / "b" / "beir" / "qrels" / "test.tsv").open(newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header == ["query-id", "corpus-id", "score"]
    expected = {(label.query_id, label.code_id, int(label.relevance)) for label in benchmark.labels}
    assert {(query, code, int(score)) for query, code, score in rows} == expected


def test_graded_relevance_keeps_its_fraction(tmp_path: Path) -> None:
    benchmark = people_benchmark()
    graded = benchmark.labels[0].model_copy(update={"relevance": 2.5})
    write_benchmark(benchmark.model_copy(update={"labels": (graded,)}), tmp_path / "b")
    assert (tmp_path / "b" / "beir" / "qrels" / "test.tsv").read_text().endswith("\t2.5\n")
