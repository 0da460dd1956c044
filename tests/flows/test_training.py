"""Training and its study from end to end: checkpoints on Ray, their reports, use as an encoder.

Covers `flows.train`, `tasks.runtime.actors`, `infra.settings.models`,
`tasks.stages.study.training`.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.leaderboard import leaderboard
from flows.train import study_training, train
from infra.errors import SettingsError, SourceError, TrainingError, UnknownNameError
from infra.settings import Settings, TrainingSettings
from tasks.benchmarks.interchange import write_beir
from tasks.encoders import encoders
from tasks.stages.study.training import read_training_study
from tasks.stages.train import read_training
from tests.fakes.checkpoints import make_checkpoint
from tests.flows.estimation import benchmark_of, pair, pairs_file
from tests.flows.world import settings_in
from tests.tasks.training.world import checkpoint, rows, write_lines

# The gate trains in `test_every_flow` and, without a cluster, in the tests of stage and trainer.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]

SETTINGS = TrainingSettings(
    base="codebert-base", recipe="codexglue", name="my-codebert", epochs=1, batch_size=8
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """CodeSearchNet's files as published."""
    for number, part in enumerate(("train", "valid", "test")):
        lines = [
            {
                "docstring_tokens": line["query"].split(), "docstring": line["query"],
                "code_tokens": line["code"].split(), "code": line["code"],
            }
            for line in rows(60)[number::3]
        ]  # fmt: skip
        write_lines(tmp_path / "jsonl" / part / f"python_{part}_0.jsonl", lines)
    return tmp_path / "jsonl"


def settings_with(folder: Path, checkpoints: dict[str, Path], *methods: str) -> Settings:
    encoder = {"checkpoints": checkpoints}
    return settings_in(folder, *methods, encoder=encoder, training=SETTINGS)


@pytest.mark.nightly
def test_the_checkpoint_that_is_published_nowhere_is_made_and_stands_in_for_it(
    tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = {"codebert-base": checkpoint("codebert-base", tmp_path / "base", 768, dropout=0.1)}
    settings = settings_with(tmp_path, base, "bm25")
    written = train(data, settings=settings)
    folder = tmp_path / "out" / "encoders" / "my-codebert"
    assert written.encoder.folder == folder
    assert written.encoder.reference == f"checkpoint:my-codebert={folder}"
    assert "20 training pairs, 20 dev and 20 test queries over 20 codes" in caplog.text
    assert "epoch 1: dev MRR" in caplog.text
    report = read_training(folder)
    assert {each.less for each in report.gains} == {"", "none", "bm25"}
    page = written.page.read_text()
    assert all(text in page for text in ("codebert-base", "bm25", "codexglue", "my-codebert"))
    board = written.leaderboard.read_text()
    assert all(name in board for name in ("codebert-base", "bm25", "my-codebert"))

    before = (folder / "model.safetensors").stat().st_mtime_ns
    again = train(data, settings=settings)
    assert again.encoder == written.encoder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    assert read_training(folder) == report

    made = settings_with(tmp_path, {"codebert-search": folder}, "codebert-search")
    rows_of = leaderboard(folder / "test", settings=made).before.rows
    assert [row.method for row in rows_of] == ["codebert-search"]
    assert json.loads((folder / "encoder.json").read_text())["licences"] == ["unknown"]


@pytest.mark.nightly
def test_an_error_of_the_training_comes_from_the_worker_and_leaves_no_encoder(
    tmp_path: Path, data: Path
) -> None:
    base = {"codebert-base": checkpoint("codebert-base", tmp_path / "base", 768)}
    settings = settings_with(tmp_path, base)
    wild = SETTINGS.model_copy(update={"learning_rate": 1e30})
    with pytest.raises(TrainingError, match=r"training\.learning_rate"):
        train(data, settings=settings.model_copy(update={"training": wild}))
    assert not (tmp_path / "out" / "encoders" / "my-codebert").exists()


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with two data sets, of which one is the half of the other, and a benchmark."""
    pairs_file(tmp_path / "all.jsonl", map(pair, range(100)))
    pairs_file(tmp_path / "half.jsonl", map(pair, range(50)))
    write_beir(benchmark_of(map(pair, range(1_000, 1_020))), tmp_path / "bench")
    return tmp_path


def settings(folder: Path, *methods: str, **training: object) -> Settings:
    chosen = {"epochs": 1, "batch_size": 8, "seed": 3, **training}
    return settings_in(folder, *methods, training=chosen)


@pytest.mark.nightly
def test_bases_are_trained_by_each_seed_scored_and_not_trained_again(world: Path) -> None:
    data = {"all": world / "all.jsonl", "half": world / "half.jsonl"}
    bases = ("ncs",)
    written = study_training(bases, data, world / "bench", 2, settings(world, "bm25"))
    names = {f"{base}-{name}-{seed}" for base in bases for name in data for seed in (3, 4)}
    trained = {folder.name: folder for folder in (world / "out" / "encoders").iterdir()}
    assert set(trained) == names
    before = {name: (trained[name] / "encoder.json").stat().st_mtime_ns for name in names}
    report = read_training_study(written)
    assert report.seeds == (3, 4)
    assert {len(each.by_seed) for each in report.figures if each.place.data == "all"} == {2}
    assert {each.place.base for each in report.figures if each.place.data == "none"} == {"bm25"}
    assert {each.place.test for each in report.figures} == {"bench"}
    less = [each.place for each in report.figures if (each.less, each.name) == ("all", "MRR")]
    assert less == [("bench", "ncs", "half")]
    page = (written / "study.html").read_text()
    assert all(base in page for base in bases)

    again = study_training(bases, {"half": data["half"]}, world / "bench", 2, settings(world))
    assert {name: (trained[name] / "encoder.json").stat().st_mtime_ns for name in names} == before
    assert read_training_study(again).seeds == (3, 4)


@pytest.mark.nightly
def test_each_data_set_is_tested_on_its_own_queries_and_a_gain_is_over_the_base(
    world: Path,
) -> None:
    dimension = encoders.get("minilm").spec.dimension
    base = f"checkpoint:tiny={make_checkpoint('minilm', world / 'tiny', dimension)}?like=minilm"
    data = {"all": world / "all.jsonl", "half": world / "half.jsonl"}
    report = read_training_study(study_training((base,), data, settings=settings(world)))
    assert {each.place.base for each in report.figures} == {"tiny"}
    assert {(each.place.test, each.place.data) for each in report.figures} == {
        ("all", "none"), ("all", "all"), ("half", "none"), ("half", "half"),
    }  # fmt: skip
    found = {
        (each.place.data, each.less): each.interval.mean
        for each in report.figures
        if (each.place.test, each.name) == ("all", "MRR")
    }
    assert found["all", "none"] == pytest.approx(found["all", ""] - found["none", ""])


def test_what_cannot_be_is_refused_before_anything_is_trained(world: Path) -> None:
    data, chosen = {"all": world / "all.jsonl"}, settings(world)
    with pytest.raises(UnknownNameError, match="unknown base 'nobody'"):
        study_training(("nobody",), data, settings=chosen)
    with pytest.raises(SettingsError, match="no data set is given"):
        study_training(("unif",), {}, settings=chosen)
    with pytest.raises(SettingsError, match=r"cannot be called '\.\./x'"):
        study_training(("unif",), {"../x": world / "all.jsonl"}, settings=chosen)
    with pytest.raises(SourceError, match="no such file"):
        study_training(("unif",), {"x": world / "absent"}, settings=chosen)
    assert not (world / "out").exists()


@pytest.mark.nightly  # the gate runs the command in test_every_flow
def test_the_command_prints_its_tables(world: Path) -> None:
    words = ["study-training", "--base", "ncs", "--data", f"docs={world / 'half.jsonl'}"]
    places = ["--store", str(world / "store"), "--output", str(world / "out")]
    done = CliRunner().invoke(app, [*words, "--method", "bm25", *places], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert "MRR, test queries: docs" in done.output
    assert "ncs, docs" in done.output
    assert "bm25, none" in done.output
    figures = json.loads((world / "out" / "training-studies" / "docs" / "study.json").read_text())
    assert figures["seeds"] == [123456]
