"""Laws of publishing: what is up to date is not read again, and a full disk spoils nothing.

Covers `tasks.stages.labels`.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from infra.collected import Collected
from infra.errors import DiskFullError, PublishError
from infra.identity import RecipeId
from infra.records import GivenVote, Label, Query, SourceInfo
from infra.settings import PublishSettings, Settings, StoreSettings
from infra.store import (
    Database,
    annotations,
    benchmarks,
    corpus,
    evidence,
    open_database,
    samples,
)
from infra.store.annotations import label_origin
from infra.store.benchmarks import Published
from infra.store.votes import record_votes
from tasks.benchmarks import read_manifest, verify_export, write_benchmark
from tasks.inputs.formats.export import read_benchmark
from tasks.metrics import STANDARD
from tasks.stages.coverage import labels_by
from tasks.stages.label.sample import Drawing, sample_candidates
from tasks.stages.labels import LabelSet, label_sets
from tasks.stages.publish import (
    nothing_exported,
    publish_benchmark,
    published_benchmarks,
    sets_to_score,
)
from tasks.stages.scoring import OpenBenchmark, method_key, open_exports, score_method
from tests.fakes.benchmarks import people_benchmark
from tests.fakes.small_disk import small_disk
from tests.tasks.stages.generate.world import CODES, ROUNDS, judged_store, label, labels_in_use

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def labels(tmp_path: Path) -> tuple[Database, LabelSet]:
    database, source = judged_store(tmp_path)
    return database, labels_in_use(database, source)


def published(labels: tuple[Database, LabelSet], folder: Path, /, **settings: object) -> Published:
    chosen = PublishSettings.model_validate({"folder": folder, **settings})
    export = publish_benchmark.fn(*labels, chosen)
    assert export is not None
    return export


def test_a_damaged_manifest_is_written_anew(
    tmp_path: Path, labels: tuple[Database, LabelSet]
) -> None:
    first = published(labels, tmp_path / "out")
    manifest = tmp_path / "out" / "c-agents" / "manifest.json"
    whole = manifest.read_text("utf-8")
    older = whole.replace('"format_version": 2', '"format_version": 0')
    assert older != whole
    for damaged in ("", whole[:200], older):
        manifest.write_text(damaged, encoding="utf-8")
        assert published(labels, tmp_path / "out") == first
        assert manifest.read_text("utf-8") == whole


def test_an_export_by_a_former_recipe_is_scored_until_the_next_one(
    tmp_path: Path, labels: tuple[Database, LabelSet]
) -> None:
    database, of_agents = labels
    chosen = PublishSettings(folder=tmp_path / "out")
    assert published_benchmarks([of_agents], chosen) == [], "nothing is exported"
    export = published(labels, tmp_path / "out")
    assert published_benchmarks([of_agents], chosen) == [export]

    def in_use(body: dict[str, object], recipe: str) -> LabelSet:
        origin = label_origin(RecipeId(recipe))
        annotations.record_recipes(database, {RecipeId(recipe): body}, used_on="c")
        current = labels_by(database, "c", of_agents.searches, [RecipeId(recipe)])
        return of_agents.model_copy(update={"origin": origin, "current": current})

    changed = in_use({"model": {"model": "other"}}, "r9")
    assert published_benchmarks([changed], chosen) == [export], "by the former recipe"
    half = in_use({"model": {"model": "m"}, "configuration": "v1-half"}, "r10")
    assert published_benchmarks([half], chosen) == [], "labels of another kind"


def test_an_export_holds_the_evidence_of_the_store(
    tmp_path: Path, labels: tuple[Database, LabelSet]
) -> None:
    export = published(labels, tmp_path / "out")
    read = read_benchmark(Path(export.folder))
    assert [item.key for item in read.evidence] == [item.key for item in read.labels]
    assert {item.support for item in read.evidence} == {"screened"}


def test_evidence_of_code_that_may_be_published_is_read_once(
    tmp_path: Path, labels: tuple[Database, LabelSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    read = evidence.read_evidence

    def counted(*given: Any) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in read(*given):
            rows += batch.num_rows
            yield batch
        passes.append(rows)

    monkeypatch.setattr("tasks.stages.labels.read_evidence", counted)
    with labels[0].transaction() as tx:
        tx.execute(
            "UPDATE collection_codes SET licence = 'unknown' WHERE code_id = ?", [CODES[0].code_id]
        )
    export = published(labels, tmp_path / "out", include_undecided=True)
    assert passes == [3]
    kept = {item.code_id for item in read_benchmark(Path(export.folder)).evidence}
    assert kept == {CODES[1].code_id}


def test_the_split_is_that_of_the_queries_and_matches_that_are_published(
    database: Database, tmp_path: Path
) -> None:
    """Six queries; the first four match licensed code only, the fifth unlicensed code too."""
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    queries = [Query.of(f"add {number}").query_id for number in range(6)]
    free, other = (code.model_copy(update={"licence": "MIT"}) for code in CODES)
    pairs = [(query, free) for query in queries[:5]] + [(query, other) for query in queries[4:]]
    content = Collected(
        info=info,
        queries=tuple(Query.of(f"add {number}") for number in range(6)),
        codes=(free, other.model_copy(update={"licence": "unknown"})),
        labels=tuple(
            Label(
                query_id=query,
                code_id=code.code_id,
                origin="people",
                relevance=1,
                note=f"for {query}",
            )
            for query, code in pairs
        ),
    )
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    [stored] = corpus.collections_of(database, "print")
    made = LabelSet(collection=stored, origin="people", name="c")
    export = published((database, made), tmp_path / "out", split="3:1:1")
    read = read_benchmark(Path(export.folder))
    assert {query.query_id for query in read.queries} == set(queries[:5])
    assert {label.note for label in read.labels} == {f"for {query}" for query in queries[:5]}
    assert read.splits.keys() == set(queries[:5])
    assert Counter(read.splits.values()) == {"train": 3, "dev": 1, "test": 1}
    assert read_manifest(Path(export.folder)).splits == {"train": 3, "dev": 1, "test": 1}


@pytest.mark.parametrize("whose", ["people", "both"])
def test_a_sample_that_people_labelled_is_exported_and_scored_without_agents(
    tmp_path: Path, whose: str
) -> None:
    """Two people see a match in one of six pairs; their labels are asked for once, and kept."""
    database, source = judged_store(tmp_path, 0)
    sample = sample_candidates(database, "c", Drawing(12))
    for name in ("ann", "bob"):
        samples.assign(database, sample, name)
        votes = [
            GivenVote(
                query_id=item.query_id, code_id=item.code_id, annotator=name,
                origin=sample.origin, relevance=item.position == 1,
            )
            for item in sample.items
        ]  # fmt: skip
        with database.transaction() as tx:
            record_votes(tx, "c", votes)
    unasked = PublishSettings(folder=tmp_path / "out")
    assert sets_to_score(database, source, unasked) == []
    told = str(nothing_exported(database, [], unasked, "c"))
    assert "or `cosqa publish --labels people` where people labelled a sample" in told

    [labels] = label_sets(database, source)
    export = published((database, labels), tmp_path / "out", labels=whose, include_undecided=True)
    assert (export.name, export.label_origin) == ("c-people", "people's majority")
    folder = tmp_path / "out" / "c-people"
    manifest = verify_export(folder)
    assert manifest.people == {f"people:{sample.sample_id}": 6}
    assert (manifest.recipe, manifest.recipes, manifest.found_by) == (None, (), ("minilm",))
    assert (manifest.counts["labels"], manifest.counts["relevant"]) == (6, 1)
    read = read_benchmark(folder)
    assert {label.note for label in read.labels} == {"2 people"}
    card = (folder / "README.md").read_text("utf-8")
    assert "6 of the labels are people's" in card
    assert "The labels are people's; no model labelled a pair." in card
    assert "agent" not in card

    assert sets_to_score(database, source, unasked) == [labels]
    assert published_benchmarks([labels], unasked) == [export]
    settings = Settings(publish=unasked).scoring
    score_method.fn(database, OpenBenchmark(export), "bm25", settings)
    sealed = published((database, labels), tmp_path / "sealed", labels=whose, sealed=True)
    assert "agent" not in (Path(sealed.folder) / "README.md").read_text("utf-8")


def test_answers_are_sealed_once_and_again_where_their_file_is_lost(
    tmp_path: Path, labels: tuple[Database, LabelSet]
) -> None:
    settings = Settings(publish=PublishSettings(folder=tmp_path / "scored")).scoring
    whole = published(labels, tmp_path / "out")
    sealed = published(labels, tmp_path / "sealed", sealed=True)
    [file] = (tmp_path / "sealed").glob("*.answers-*.json")
    text = file.read_text("utf-8")
    file.unlink()
    assert published(labels, tmp_path / "sealed", sealed=True) == sealed
    assert file.read_text("utf-8") == text
    assert not read_benchmark(Path(sealed.folder)).labels

    [opened] = open_exports([sealed], file)
    scores = []
    for benchmark in (OpenBenchmark(whole), opened):
        score_method.fn(labels[0], benchmark, "bm25", settings)
        key = method_key("bm25", settings.evaluation.depth)
        identity = benchmark.benchmark_id
        scores.append(benchmarks.mean_scores(labels[0], identity, [key], STANDARD))
    assert scores[0]["bm25"]
    assert scores[0] == scores[1]
    assert not (Path(sealed.folder) / "runs").exists(), "the export gets no run that was scored"
    with pytest.raises(PublishError, match="which is none of other"):
        open_exports([sealed.model_copy(update={"name": "other"})], file)


def test_files_that_are_written_otherwise_hand_the_runs_over(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    write_benchmark(people_benchmark(), folder)
    (folder / "runs").mkdir()
    (folder / "runs" / "bm25.trec").write_text("ranked")
    (folder / "README.md").write_text("by an older release")
    write_benchmark(people_benchmark(), folder)
    assert (folder / "runs" / "bm25.trec").read_text() == "ranked"
    fewer = people_benchmark().model_copy(update={"labels": people_benchmark().labels[:1]})
    write_benchmark(fewer, folder)
    assert not (folder / "runs").exists(), "runs of another benchmark"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    yield from small_disk(tmp_path / "disk", megabytes=1)


def fill(disk: Path, left: int) -> None:
    """Leave so many bytes of a disk."""
    (disk / "filler").unlink(missing_ok=True)
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "filler").write_bytes(b"\0" * max(0, free - left))


@pytest.mark.exhaustive
def test_a_disk_that_fills_up_at_any_write_leaves_the_older_export_whole(
    disk: Path, labels: tuple[Database, LabelSet]
) -> None:
    published(labels, disk)
    before = verify_export(disk / "c-agents")
    label(labels[0], 2, 1, 1, ROUNDS[0])
    failures = []
    for left in range(0, 400_000, 16_384):  # more each time, so that each write fails in turn
        fill(disk, left)
        try:
            published(labels, disk)
            break
        except DiskFullError as error:
            failures.append(str(error))
        assert verify_export(disk / "c-agents") == before
        assert {path.name for path in disk.iterdir()} == {"filler", "c-agents"}
    assert len(failures) > 2
    assert all(str(disk) in text and "--output" in text for text in failures)
    assert verify_export(disk / "c-agents") != before


def test_a_store_on_a_full_disk_is_refused_and_unchanged(
    disk: Path, labels: tuple[Database, LabelSet]
) -> None:
    fill(disk, 0)
    with pytest.raises(DiskFullError, match="--store"):
        open_database(StoreSettings(folder=disk / "store"))


def test_a_run_that_finds_no_room_leaves_neither_file_nor_score(
    disk: Path, labels: tuple[Database, LabelSet]
) -> None:
    export = published(labels, disk)
    settings = Settings(publish=PublishSettings(folder=disk)).scoring
    fill(disk, 0)
    with pytest.raises(DiskFullError, match="--output"):
        score_method.fn(labels[0], OpenBenchmark(export), "bm25", settings)
    assert [path for path in disk.glob("*/runs/*") if path.is_file()] == []
    key = method_key("bm25", settings.evaluation.depth)
    assert benchmarks.find_evaluation(labels[0], export.benchmark_id, key) is None
    (disk / "filler").unlink()
    assert score_method.fn(labels[0], OpenBenchmark(export), "bm25", settings).file.is_file()
