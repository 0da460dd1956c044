"""Training from end to end: a fine-tuned checkpoint on Ray, its report, and its use as an encoder.

Covers `tasks.runtime.actors`, `infra.settings.models`.
"""

import json
from pathlib import Path

import pytest

from flows.leaderboard import leaderboard
from flows.train import train
from infra.errors import TrainingError
from infra.settings import (
    EncoderSettings,
    EvaluationSettings,
    PublishSettings,
    Settings,
    StoreSettings,
    TrainingSettings,
)
from tasks.stages.train import read_training
from tests.tasks.training.world import checkpoint, rows, write_lines

# The gate trains in `test_every_flow` and, without a cluster, in the tests of stage and trainer.
pytestmark = [
    pytest.mark.usefixtures("prefect_server"), pytest.mark.slow, pytest.mark.nightly,
]  # fmt: skip

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


def settings_in(folder: Path, checkpoints: dict[str, Path], *methods: str) -> Settings:
    return Settings(
        store=StoreSettings(folder=folder / "store"),
        publish=PublishSettings(folder=folder / "out"),
        evaluation=EvaluationSettings(methods=methods, depth=20),
        encoder=EncoderSettings(checkpoints=checkpoints),
        training=SETTINGS,
    )


def test_the_checkpoint_that_is_published_nowhere_is_made_and_stands_in_for_it(
    tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = {"codebert-base": checkpoint("codebert-base", tmp_path / "base", 768, dropout=0.1)}
    settings = settings_in(tmp_path, base, "bm25")
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

    made = settings_in(tmp_path, {"codebert-search": folder}, "codebert-search")
    rows_of = leaderboard(folder / "test", settings=made).before.rows
    assert [row.method for row in rows_of] == ["codebert-search"]
    assert json.loads((folder / "encoder.json").read_text())["licences"] == ["unknown"]


def test_an_error_of_the_training_comes_from_the_worker_and_leaves_no_encoder(
    tmp_path: Path, data: Path
) -> None:
    base = {"codebert-base": checkpoint("codebert-base", tmp_path / "base", 768)}
    settings = settings_in(tmp_path, base)
    wild = SETTINGS.model_copy(update={"learning_rate": 1e30})
    with pytest.raises(TrainingError, match=r"training\.learning_rate"):
        train(data, settings=settings.model_copy(update={"training": wild}))
    assert not (tmp_path / "out" / "encoders" / "my-codebert").exists()
