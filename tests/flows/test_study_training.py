"""The training study from end to end, on models that train in a second.

Covers `flows.train`, `tasks.stages.study.training`.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.train import study_training
from infra.errors import SettingsError, SourceError, UnknownNameError
from infra.settings import Settings
from tasks.benchmarks.interchange import write_beir
from tasks.encoders import encoders
from tasks.stages.study.training import read_training_study
from tests.fakes.checkpoints import make_checkpoint
from tests.flows.estimation import benchmark_of, pair, pairs_file, settings_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with two data sets, of which one is the half of the other, and a benchmark."""
    pairs_file(tmp_path / "all.jsonl", map(pair, range(100)))
    pairs_file(tmp_path / "half.jsonl", map(pair, range(50)))
    write_beir(benchmark_of(map(pair, range(1_000, 1_020))), tmp_path / "bench")
    return tmp_path


def settings(folder: Path, *methods: str, **training: object) -> Settings:
    chosen = {"epochs": 1, "batch_size": 8, "seed": 3, **training}
    made = settings_in(folder, *methods)
    return made.model_copy(update={"training": made.training.model_copy(update=chosen)})


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
