"""The trainer beside the same computation in plain PyTorch; runs that were killed, and full disks.

Covers `tasks.training.job`.
"""

import errno
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.data_collator import (
    SentenceTransformerDataCollator,
)
from torch import Tensor, nn
from torch.nn.functional import normalize

from infra.errors import DiskFullError, EncoderError, TrainingError
from infra.records import Code
from tasks.benchmarks.benchmark import qrels_of
from tasks.benchmarks.pairs import Pairs
from tasks.metrics import evaluate, mean
from tasks.ranking.methods import rank_vectors
from tasks.search.scores import in_memory
from tasks.training import trainer
from tasks.training.encoder import embed
from tasks.training.job import History, TrainingJob, TrainingProgress
from tasks.training.recipes import RECIPES
from tasks.training.trainer import (
    last_checkpoint,
    progress_of_training,
    train,
    with_names_as_queries,
)
from tests.fakes.small_disk import small_disk
from tests.tasks.training.plain import LOOPS, Batch, PlainTraining, flat
from tests.tasks.training.world import checkpoint, inputs_of, job_of

Trained = tuple[dict[str, Tensor], History]
SMALL: dict[str, Any] = {"epochs": 3, "batch_size": 8, "learning_rate": 1e-3}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Several would wait for each other longer than such small sums take."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def ignore(_: TrainingProgress) -> None:
    """Hear nothing."""


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: each.detach().clone() for name, each in model.state_dict().items()}


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


def job(folder: Path, **recipe: Any) -> TrainingJob:
    """Return a job on a small checkpoint with dropout, 32 pairs in 4 steps an epoch."""
    base = checkpoint("roberta-base", folder / "base", dropout=0.1)
    inputs = inputs_of(folder, f"checkpoint:small={base}?pooling=mean")
    return job_of(inputs, folder / "work", **SMALL | recipe)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    model, history = train(job(tmp_path_factory.mktemp("undisturbed")), ignore)
    return weights(model), history


def often(folder: Path, **recipe: Any) -> TrainingJob:
    """Return the same job with a checkpoint after each step."""
    return replace(job(folder, **recipe), checkpoint_minutes=1e-9)


@pytest.mark.parametrize(
    ("encoder", "recipe"),
    [("roberta-base", "codexglue"), ("codet5p", "cosqa-plus"), ("unixcoder", "cosqa-plus")],
)
def test_losses_and_weights_are_those_of_the_published_loop(
    encoder: str, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = checkpoint(encoder, tmp_path / "base", 256 if encoder == "codet5p" else 768)
    inputs = inputs_of(
        tmp_path, f"checkpoint:small={base}?like={encoder}", number=27, recipe=recipe,
        batch_size=8, epochs=3,
    )  # fmt: skip
    batches: list[Batch] = []
    losses: list[float] = []
    collate = SentenceTransformerDataCollator.__call__
    step = trainer._Trainer.training_step

    def collated(self: Any, features: Batch) -> Any:
        batches.append([dict(each) for each in features])
        return collate(self, features)

    def stepped(self: Any, *arguments: Any) -> Tensor:
        losses.append(step(self, *arguments).item())
        return torch.tensor(losses[-1])

    monkeypatch.setattr(SentenceTransformerDataCollator, "__call__", collated)
    monkeypatch.setattr(trainer._Trainer, "training_step", stepped)
    work = job_of(inputs, tmp_path / "work")
    trained, history = train(work, ignore)
    assert [len(batch) for batch in batches] == 3 * [8, 8, len(work.pairs) - 16]
    assert len(batches[-1]) < 8

    plain = PlainTraining(encoder, base)
    before = flat(plain.model)
    expected, weights_after = plain.train(LOOPS[recipe], batches)
    for steps, (loss, plain_loss) in enumerate(zip(losses, expected, strict=True), start=1):
        # Each step carries on the rounding of those before it, which differs among processors.
        assert loss == pytest.approx(plain_loss, abs=2e-5 * steps), steps
    best = weights_after[3 * round(history.best_epoch) - 1]
    # Where a gradient is next to nought, rounding turns Adam's step round.
    far = (flat(trained.transformer) - best).norm() / (best - before).norm()
    assert far.item() < 1e-2


class KilledError(Exception):
    """Stands for the end of a process."""


def killed_after(steps: int) -> Any:
    def tell(progress: TrainingProgress) -> None:
        if progress.step >= steps:
            raise KilledError

    return tell


@pytest.mark.parametrize("minutes", [1e-9, 1e9])
def test_a_killed_run_goes_on_to_the_weights_of_an_undisturbed_one(
    tmp_path: Path, minutes: float, undisturbed: Trained
) -> None:
    expected, history = undisturbed
    step = random.randrange(5, 12)
    killed = replace(job(tmp_path / "killed"), checkpoint_minutes=minutes)
    with pytest.raises(KilledError):
        train(killed, killed_after(step))
    assert last_checkpoint(killed.folder)
    resumed, again = train(killed, ignore)
    assert_equal(weights(resumed), expected)
    torch.testing.assert_close(again.scores, history.scores, atol=1e-6, rtol=0)
    assert again.model_dump(include={"steps", "before", "best_epoch"}) == history.model_dump(
        include={"steps", "before", "best_epoch"}
    )


def test_no_dev_score_is_lost_where_a_run_is_killed_at_the_end_of_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Trained
) -> None:
    killed = often(tmp_path / "killed")
    score = trainer._DevScore.__call__

    def raise_in_training(self: Any, model: Any, *more: Any, **named: Any) -> Any:
        if more or named:
            raise KilledError
        return score(self, model)

    with monkeypatch.context() as patch:
        patch.setattr(trainer._DevScore, "__call__", raise_in_training)
        with pytest.raises(KilledError):
            train(killed, ignore)
    _, again = train(killed, ignore)
    torch.testing.assert_close(again.scores, undisturbed[1].scores, atol=1e-6, rtol=0)


SCRIPT = """
import sys, torch
from pathlib import Path
from tests.tasks.training.test_trainer import often, train
torch.set_num_threads(1)
def tell(progress):
    print(progress.step, flush=True)
train(often(Path(sys.argv[1]), epochs=20), tell)
"""


@pytest.mark.slow(15)
@pytest.mark.nightly
def test_a_process_that_is_killed_while_it_writes_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    whole, _ = train(job(tmp_path / "whole", epochs=20), ignore)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "killed")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            if int(line) >= 30:
                process.send_signal(signal.SIGKILL)
                break
    resumed, _ = train(job(tmp_path / "killed", epochs=20), ignore)
    assert_equal(weights(resumed), weights(whole))


@pytest.mark.parametrize("damage", ["no state", "cut weights", "cut optimizer", "no weights"])
def test_of_checkpoints_the_last_whole_one_is_taken(
    tmp_path: Path, damage: str, undisturbed: Trained
) -> None:
    killed = often(tmp_path / "killed")
    with pytest.raises(KilledError):
        train(killed, killed_after(7))
    last = last_checkpoint(killed.folder)
    assert last
    if damage.startswith("cut"):
        file = last / ("model.safetensors" if damage == "cut weights" else "optimizer.pt")
        file.write_bytes(file.read_bytes()[:-100])
    else:
        (last / {"no state": "trainer_state.json"}.get(damage, "model.safetensors")).unlink()
    before = last_checkpoint(killed.folder)
    assert before
    assert before != last
    resumed, _ = train(killed, ignore)
    assert_equal(weights(resumed), undisturbed[0])


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("save_model", SafetensorError("I/O error: No space left on device (os error 28)")),
        ("torch.save", FULL),
        ("torch.save", RuntimeError("[enforce fail at inline_container.cc] . PytorchStreamWriter")),
    ],
)
def test_a_full_disk_keeps_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: Exception
) -> None:
    full = job(tmp_path)
    owner = torch if name == "torch.save" else trainer
    write = getattr(owner, name.rpartition(".")[2])

    def fails(*arguments: Any, **options: Any) -> None:
        if (full.folder / "checkpoint-4" / "trainer_state.json").is_file():
            raise error
        write(*arguments, **options)

    monkeypatch.setattr(owner, name.rpartition(".")[2], fails)
    if isinstance(error, RuntimeError):
        monkeypatch.setattr(trainer, "free_bytes", lambda _: 0)
    with pytest.raises(DiskFullError, match="--output"):
        train(full, ignore)
    assert [each.name for each in full.folder.glob("checkpoint-*")] == ["checkpoint-4"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    yield from small_disk(tmp_path / "disk", 1)


@pytest.mark.exhaustive
def test_a_disk_that_fills_up_keeps_the_checkpoint_before(
    tmp_path: Path, disk: Path, undisturbed: Trained
) -> None:
    full = replace(job(tmp_path), folder=disk / "work")
    (disk / "other").write_bytes(b"x" * (600 << 10))
    with pytest.raises(DiskFullError, match="--output"):
        train(full, ignore)
    assert [each.name for each in full.folder.glob("checkpoint-*")] == ["checkpoint-4"]
    (disk / "other").unlink()
    resumed, _ = train(full, ignore)
    assert_equal(weights(resumed), undisturbed[0])


def test_what_is_made_of_texts_alone_is_made_of_the_whole_code_base(tmp_path: Path) -> None:
    """A word that is in five searched codes has a vector, though no training pair has it."""
    work = job_of(inputs_of(tmp_path, "ncs"), tmp_path / "work")
    others = tuple(Code.of(f"searchedWord {number}") for number in range(5))
    searched = work.dev.model_copy(update={"codes": (*work.dev.codes, *others)})

    def known(job: TrainingJob) -> Any:
        return trainer._model_of(job)._rows

    assert "searched" not in known(work)
    assert "searched" in known(replace(work, dev=searched))


@pytest.mark.parametrize("recipe", ["codexglue", "cosqa-plus"])
def test_dev_scores_are_those_of_this_projects_metrics(recipe: str, tmp_path: Path) -> None:
    base = checkpoint("roberta-base", tmp_path / "base")
    work = job_of(
        inputs_of(tmp_path, f"checkpoint:small={base}?pooling=mean", recipe=recipe),
        tmp_path / "work",
    )
    model = trainer._model_of(work).eval()
    found = trainer._DevScore(work.dev, work.recipe)(
        SentenceTransformer(modules=[trainer._Tower(model)], device="cpu")
    )
    qrels = qrels_of(work.dev.labels)
    own = {code for codes in qrels.values() for code in codes}
    is_all = work.recipe.dev_codes == "all"
    texts = {each.code_id: each.text for each in work.dev.codes if is_all or each.code_id in own}
    queries = {each.query_id: each.text for each in work.dev.queries}
    codes = {code: texts[code] for code in sorted(texts)}
    similarity = work.recipe.similarity
    rankings = rank_vectors(
        {"": embed(model, [*queries.values()], "query", similarity)},
        in_memory({"": embed(model, [*codes.values()], "code", similarity)}),
        [*queries],
        [*codes],
        1_000,
    )
    by_query = evaluate(rankings, qrels, [work.recipe.metric])[work.recipe.metric]
    assert found == {work.recipe.metric: pytest.approx(mean(by_query.values()), abs=1e-6)}


def test_weights_that_are_no_numbers_any_more_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"training\.learning_rate"):
        train(job(tmp_path, learning_rate=1e30), ignore)


def scored_by(monkeypatch: pytest.MonkeyPatch, scores: Sequence[float]) -> None:
    """Let the dev queries have these scores, the first one before training."""
    left = iter(scores)

    def score(self: Any, *_: Any, **__: Any) -> dict[str, float]:
        return {self.primary_metric: next(left)}

    monkeypatch.setattr(trainer._DevScore, "__call__", score)


@pytest.mark.parametrize(
    ("patience", "scores", "best"),
    [(0, [0.1, 0.2, 0.5, 0.5, 0.3], 2.0), (2, [0.9, 0.4, 0.1, 0.2, 0.8], 1.0)],
)
def test_weights_are_those_of_the_first_best_epoch_and_patience_ends_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: int, scores: list[float], best: float
) -> None:
    scored_by(monkeypatch, scores)
    work = job(tmp_path, epochs=4, patience=patience)
    model, history = train(work, ignore)
    assert history.best_epoch == best
    assert history.before == scores[0]
    ran = 3 if patience else 4
    assert history.scores == tuple(enumerate(scores[1 : ran + 1], start=1))
    kept = load_file(work.folder / f"checkpoint-{round(4 * best)}" / "model.safetensors")
    own = weights(model)
    assert all(torch.equal(own[name], tensor) for name, tensor in kept.items())


def test_patience_does_not_begin_again_with_a_run_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = job(tmp_path, epochs=9, patience=2)
    scored_by(monkeypatch, [0.1, 0.9, 0.3])
    with pytest.raises(KilledError):
        train(killed, killed_after(9))
    scored_by(monkeypatch, [0.4])
    for _ in range(2):  # the second time training is over, and the model is yet to be written
        _, history = train(killed, ignore)
        assert history.scores == ((1.0, 0.9), (2.0, 0.3), (3.0, 0.4))
        assert (history.before, history.best_epoch) == (0.1, 1.0)
        scored_by(monkeypatch, [])


@pytest.mark.parametrize("loss", ["hardest-margin", "random-margin"])
def test_the_margin_losses_are_those_that_are_published(loss: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    queries, codes = normalize(torch.randn(5, 4)), normalize(torch.randn(5, 4))
    recipe = RECIPES["cosqa-plus"].model_copy(update={"loss": loss, "margin": 0.3})
    right = trainer.RightOnes("abcde", "fghij")
    found = trainer._MarginLoss(lambda each: {"sentence_embedding": each}, recipe, right)(  # type: ignore[arg-type]
        [3 * queries, codes / 2], torch.arange(5)
    )
    each = []
    for i in range(5):
        own = queries[i] @ codes[i]
        others = [max(float(queries[i] @ codes[j]), 0.0) for j in range(5) if j != i]
        other = max(others) if loss == "hardest-margin" else float(queries[(i + 1) % 5] @ codes[i])
        each.append(max(0.0, 0.3 - float(own) + other))
    assert found.item() == pytest.approx(sum(each) / 5, abs=1e-6)


def test_one_pair_in_ten_has_its_functions_name_as_query() -> None:
    name = "readConfigurationFile2"
    code = f"def {name}(path):\n    return {name}(path, {name}s)\n"
    short = "def short_name(x):\n    return short_name\n"
    pairs = Pairs.of("p", [("q", code), ("r", short)] * 1000, Counter())
    recipe = RECIPES["cosqa-plus"].model_copy(update={"names_as_queries": 0.1})
    changed = with_names_as_queries(pairs, recipe)
    both = list(zip(changed.queries, changed.codes, strict=True))
    masked = f"def _(path):\n    return _(path, {name}s)"
    assert set(both) == {
        ("q", code.strip()),
        ("r", short.strip()),
        ("read configuration file 2", masked),
    }
    assert 70 <= both.count(("read configuration file 2", masked)) <= 130
    assert with_names_as_queries(pairs, recipe).queries == changed.queries
    assert with_names_as_queries(pairs, RECIPES["cosqa-plus"]) is pairs


def test_progress_is_told_before_the_history_and_the_model_is_saved(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    *_, history = yielded = list(progress_of_training(job(tmp_path), folder))
    told = [each for each in yielded if isinstance(each, TrainingProgress)]
    assert isinstance(history, History)
    assert len(told) == len(yielded) - 1
    assert history.device == "cpu"
    assert [each.step for each in told if each.loss] == list(range(1, 13))
    assert [each.epoch for each in told if each.score is not None] == [1, 2, 3]
    assert history.losses == tuple((each.step, each.loss) for each in told if each.loss)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {
        file.name for file in folder.iterdir()
    }


def test_an_error_of_the_training_comes_through_the_progress(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no numbers"):
        list(progress_of_training(job(tmp_path, learning_rate=1e30), tmp_path))


def test_a_recipe_that_pools_otherwise_than_its_base_can_is_refused(tmp_path: Path) -> None:
    base = checkpoint("codet5p", tmp_path / "base", 256)
    inputs = inputs_of(tmp_path, f"checkpoint:small={base}?like=codet5p", recipe="codexglue")
    with pytest.raises(EncoderError, match=r"'small' has no pooler.* another recipe"):
        train(job_of(inputs, tmp_path / "work"), ignore)


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    base = checkpoint("roberta-base", tmp_path / "base")
    other = checkpoint("roberta-base", tmp_path / "other", 32)
    shutil.copy(other / "model.safetensors", base)
    inputs = inputs_of(tmp_path, f"checkpoint:small={base}?pooling=mean")
    with pytest.raises(EncoderError, match="cannot load encoder 'small'"):
        train(job_of(inputs, tmp_path / "work"), ignore)
