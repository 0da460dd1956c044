"""Laws of scoring: no method is ranked twice, and no run or score of other settings is reused.

Covers `infra.settings`.
"""

import logging
import pickle
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from infra.errors import PublishError, SourceError
from infra.records import Query
from infra.settings import EvaluationSettings, PublishSettings, ScoringSettings, Settings
from infra.store import Database, benchmarks, vectors
from infra.store.vectors import StoredVectors
from tasks.benchmarks import Benchmark, write_benchmark
from tasks.benchmarks.interchange import write_beir
from tasks.benchmarks.runs import QrelsTable
from tasks.benchmarks.trec import run_tag
from tasks.metrics import evaluate
from tasks.runtime.caching import Parameters
from tasks.stages import leaderboard
from tasks.stages.leaderboard import read_rankings
from tasks.stages.scoring import (
    OpenBenchmark,
    Run,
    _is_scored,
    method_key,
    open_benchmark,
    score_method,
)
from tasks.stages.vectors import Embedding, encoder_key
from tests.fakes.stores import add_file
from tests.tasks.reports.cases import benchmark as toy

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def export(tmp_path: Path, database: Database) -> OpenBenchmark:
    """An export that the store has published."""
    write_benchmark(toy(), tmp_path / "toy")
    opened = open_benchmark(database, tmp_path / "toy")
    own = opened.published.model_copy(update={"collection": "toy"})
    benchmarks.record_benchmark(database, own)
    return OpenBenchmark(own)


def settings_in(folder: Path, depth: int = 10, *metrics: str) -> ScoringSettings:
    return Settings(
        publish=PublishSettings(folder=folder / "out"),
        evaluation=EvaluationSettings(depth=depth, metrics=metrics),
    ).scoring


def scored(database: Database, export: OpenBenchmark, settings: ScoringSettings) -> tuple[Run, int]:
    """Score BM25; return its run and how many rankings were written."""
    folder = settings.publish.folder.parent
    before = _written(folder)
    run = score_method.fn(database, export, "bm25", settings)
    parameters = Parameters(database=database, benchmark=export, method="bm25", settings=settings)
    assert _is_scored(parameters)
    return run, len(_written(folder) - before)


def _written(folder: Path) -> set[tuple[int, int]]:
    runs = [file.stat() for file in folder.rglob("*.trec")]
    return {(run.st_ino, run.st_ctime_ns) for run in runs}


def test_a_method_is_ranked_once_whatever_metrics_follow(
    tmp_path: Path, database: Database, export: OpenBenchmark
) -> None:
    run, ranked = scored(database, export, settings_in(tmp_path))
    assert (run.file, ranked) == (Path(export.published.folder) / "runs/bm25.trec", 1)
    assert scored(database, export, settings_in(tmp_path)) == (run, 0)
    more = settings_in(tmp_path, 10, "bpref", "MAP@100")
    assert scored(database, export, more) == (run, 0)
    key = method_key("bm25", more.evaluation.depth)
    assert {"bpref", "MAP@100"} <= set(
        benchmarks.scored_metrics(database, export.benchmark_id, key)
    )


def test_a_run_of_another_depth_is_not_reused(
    tmp_path: Path, database: Database, export: OpenBenchmark
) -> None:
    short, long = settings_in(tmp_path, 10), settings_in(tmp_path, 20)
    for settings, lines in ((short, 10), (long, 20), (short, 10)):
        run, ranked = scored(database, export, settings)
        assert ranked == 1
        assert run_tag(run.file) == f"bm25.{method_key('bm25', lines)[:8]}"
        queries = [line.split()[0] for line in run.file.read_text().splitlines()]
        assert queries.count(queries[0]) == lines


def test_a_lost_run_is_made_again(
    tmp_path: Path, database: Database, export: OpenBenchmark
) -> None:
    run, _ = scored(database, export, settings_in(tmp_path))
    before = run.file.read_bytes()
    run.file.unlink()
    assert scored(database, export, settings_in(tmp_path)) == (run, 1)
    assert run.file.read_bytes() == before


def test_a_method_that_finds_nothing_is_ranked_once_and_compared(
    tmp_path: Path, database: Database
) -> None:
    queries = [Query(query_id=query.query_id, text="зебра") for query in toy().queries]
    write_benchmark(toy().model_copy(update={"queries": tuple(queries)}), tmp_path / "other")
    opened = open_benchmark(database, tmp_path / "other")
    settings = settings_in(tmp_path)
    run, ranked = scored(database, opened, settings)
    assert (run.file.read_bytes(), ranked) == (b"", 1)
    assert scored(database, opened, settings) == (run, 0)
    qrels = QrelsTable.of_labels(opened.content.labels)
    scores = evaluate(read_rankings(opened, [run])["bm25"], qrels, ["MRR", "NDCG@10"])
    assert all(len(of) > 1 and not any(of.values()) for of in scores.values())


def test_a_run_about_other_codes_is_refused_and_the_share_of_known_ones_is_told(
    tmp_path: Path,
    export: OpenBenchmark,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(leaderboard, "get_run_logger", lambda: logging.getLogger("run"))
    query, code = export.content.queries[0].query_id, export.content.codes[0].code_id
    file = tmp_path / "theirs.trec"
    for lines, problem in (
        (f"{query} Q0 other 1 2.0 t\n", "'theirs' ranks none of the codes of"),
        (f"other Q0 {code} 1 2.0 t\n", "'theirs' ranks none of the queries of"),
    ):
        file.write_text(lines)
        with pytest.raises(SourceError, match=problem):
            read_rankings(export, [Run(method="theirs", file=file)])
    file.write_text(f"{query} Q0 {code} 1 2.0 t\n{query} Q0 other 2 1.0 t\n")
    read_rankings(export, [Run(method="theirs", file=file)])
    assert "run 'theirs': 1 of its 2 codes are of" in caplog.text
    assert "queries" not in caplog.text


@pytest.mark.parametrize("of_several", [False, True])
def test_a_split_of_a_beir_folder_is_opened_by_its_file(
    tmp_path: Path, database: Database, of_several: bool
) -> None:
    folder = tmp_path / "mine"
    write_beir(toy(), folder)
    whole = open_benchmark(database, folder)
    test = folder / "qrels" / "test.tsv"
    dev = test.rename(folder / "qrels" / "dev.tsv")
    if of_several:
        shutil.copy(dev, test)
    opened = open_benchmark(database, dev)
    run = score_method.fn(database, OpenBenchmark(opened.published), "bm25", settings_in(tmp_path))
    assert run.file.is_file()
    assert opened.content.label_origin == "beir:dev"
    assert len(opened.content.labels) == len(whole.content.labels)
    if not of_several:
        assert open_benchmark(database, folder).content.label_origin == "beir:dev"


def test_runs_of_a_benchmark_from_elsewhere_are_not_written_into_its_folder(
    tmp_path: Path, database: Database
) -> None:
    write_benchmark(toy(), tmp_path / "external")
    opened = open_benchmark(database, tmp_path / "external")
    run = score_method.fn(database, opened, "bm25", settings_in(tmp_path))
    assert run.file.is_relative_to(tmp_path / "out" / "leaderboards")
    assert not (tmp_path / "external" / "runs").exists()


def test_runs_beside_a_copy_of_an_own_export_are_not_believed(
    tmp_path: Path, database: Database, export: OpenBenchmark
) -> None:
    run, _ = scored(database, export, settings_in(tmp_path))
    copy = Path(shutil.copytree(export.published.folder, tmp_path / "copy"))
    forged = (copy / "runs" / run.file.name).read_text().replace(" 1 ", " 2 ")
    (copy / "runs" / run.file.name).write_text(forged)
    opened = open_benchmark(database, copy)
    assert opened.published.collection == "toy"
    again = score_method.fn(database, opened, "bm25", settings_in(tmp_path))
    assert again.file.read_text() == run.file.read_text()
    assert not again.file.is_relative_to(copy)


@pytest.mark.parametrize("spoiled", ["labels.parquet", "manifest.json"])
def test_nothing_of_a_spoiled_export_is_stored(
    tmp_path: Path, database: Database, spoiled: str
) -> None:
    write_benchmark(toy(), tmp_path / "b")
    (tmp_path / "b" / spoiled).write_bytes(b"{}")
    with pytest.raises(PublishError, match=spoiled):
        open_benchmark(database, tmp_path / "b")
    assert not database.rows("SELECT * FROM benchmarks")


def test_a_benchmark_without_relevant_codes_is_not_scored_for_ever(
    tmp_path: Path, database: Database
) -> None:
    labels = tuple(label.model_copy(update={"relevance": 0.0}) for label in toy().labels)
    write_benchmark(toy().model_copy(update={"labels": labels}), tmp_path / "none")
    opened = open_benchmark(database, tmp_path / "none")
    scored(database, opened, settings_in(tmp_path))


def test_an_open_benchmark_reads_its_folder_once_and_travels_as_a_reference(
    export: OpenBenchmark,
) -> None:
    content: Benchmark = export.content
    assert export.content is content
    sent = pickle.dumps(export)
    assert len(sent) < 1_000
    received = pickle.loads(sent)
    assert received.published == export.published
    assert received.content == content


def test_a_leaderboard_looks_up_no_vectors_that_its_scoring_has_found(
    tmp_path: Path, database: Database, export: OpenBenchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, looked_up = encoder_key("minilm"), Counter[str]()

    def embed(_: Embedding, __: str, kind: vectors.Kind, texts: Mapping[str, str]) -> None:
        rows = np.full((len(texts), 4), 0.5, np.float32)
        add_file(database, key, kind, f"{key}/{kind}.arrow", list(texts), rows)

    class Counting(StoredVectors):
        def __init__(self, *given: Any) -> None:
            looked_up[given[2]] += 1
            super().__init__(*given)

    monkeypatch.setattr("tasks.stages.vectors.embed_texts", embed)
    monkeypatch.setattr("tasks.stages.vectors.StoredVectors", Counting)
    scoring = settings_in(tmp_path)
    score_method.fn(database, export, "minilm", scoring)
    assert looked_up["code"] == 2, "what is missing, and what was embedded"
    found = leaderboard._speeds(database, export, ["minilm"], scoring)
    again = leaderboard._speeds(database, OpenBenchmark(export.published), ["minilm"], scoring)
    assert looked_up["code"] == 3, "once more, where another run has scored it"
    assert found == again
    assert found["minilm"].megabytes == len(export.content.codes) * 4 * 4 / 1e6


def test_the_time_of_a_ranking_is_without_that_of_its_vectors(
    tmp_path: Path, database: Database, export: OpenBenchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def embed(work: Embedding, name: str, kind: vectors.Kind, texts: Mapping[str, str]) -> None:
        assert (work.encoder, name) == ("minilm", export.content.name)
        clock[0] += 1_000
        rows = np.full((len(texts), 4), 0.5, np.float32)
        key = encoder_key("minilm")
        add_file(database, key, kind, f"{key}/{kind}.arrow", list(texts), rows)

    monkeypatch.setattr("tasks.stages.vectors.embed_texts", embed)
    monkeypatch.setattr("tasks.stages.scoring.time", SimpleNamespace(monotonic=lambda: clock[0]))
    score_method.fn(database, export, "bm25+minilm", settings_in(tmp_path))
    assert clock == [2_000.0]
    assert database.column("SELECT seconds FROM evaluations") == [0.0]
