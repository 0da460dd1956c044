"""The losses against loops over pairs; the trainer against plain PyTorch; killed and resumed runs.

Covers `tasks.training.recipes`, `tasks.training._tower`.
"""

import random
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf, log
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from torch import Tensor, nn
from torch.nn.functional import normalize

from infra.errors import EncoderError, TrainingError
from infra.records import Code
from tasks.benchmarks.benchmark import qrels_of
from tasks.inputs.pairs import Pairs
from tasks.metrics import evaluate, mean
from tasks.ranking.methods import rank_vectors
from tasks.search.scores import in_memory
from tasks.training import trainer
from tasks.training._tower import Tower
from tasks.training.recipes import RECIPES, History, Recipe, TrainingJob, TrainingProgress
from tasks.training.trainer import PairLoss, dev_evaluator, train, with_names_as_queries
from tests.tasks.training.plain import LOOPS, Batch, PlainTraining, flat
from tests.tasks.training.world import checkpoint, inputs_of, job_of, vectors_of

# (query, code) of five pairs: the second and the fourth have one query, it and the fifth one code.
LABELS = torch.tensor([[0, 0], [1, 1], [2, 2], [1, 3], [3, 1]])
OTHERS = {(1, 3), (3, 1), (1, 4), (4, 1)}


class Given(nn.Module):
    """A model whose vectors are given."""

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        return {"sentence_embedding": features["vectors"]}


def loss_of(recipe: Recipe, labels: Tensor, *vectors: Tensor) -> Tensor:
    loss: Tensor = PairLoss(Given(), recipe)([{"vectors": each} for each in vectors], labels)  # type: ignore[arg-type]
    return loss


def plain(recipe: Recipe, similar: Tensor, others: set[tuple[int, int]]) -> float:
    """Return the loss, by loops over pairs."""
    number, losses = len(similar), []
    for own in range(number):
        wrong = [j for j in range(number) if j != own and (own, j) not in others]
        mine = float(similar[own, own])
        if recipe.loss == "softmax":
            each = [recipe.scale * float(similar[own, j]) for j in [own, *wrong]]
            losses.append(float(torch.tensor(each).logsumexp(0)) - recipe.scale * mine)
        elif recipe.loss == "hardest-margin":
            hardest = max((float(similar[own, j]) for j in wrong), default=0.0)
            losses.append(max(0.0, recipe.margin - mine + max(0.0, hardest)))
        else:
            after = [(own + step) % number for step in range(1, number)]
            queries = [i for i in after if (i, own) not in others]
            other = float(similar[queries[0], own]) if queries else -inf
            losses.append(max(0.0, recipe.margin - mine + other))
    return sum(losses) / number


@pytest.mark.parametrize("similarity", ["product", "cosine"])
@pytest.mark.parametrize("loss", ["softmax", "hardest-margin", "random-margin"])
def test_a_loss_is_that_of_loops_without_other_answers(loss: str, similarity: str) -> None:
    recipe = RECIPES["codexglue"].model_copy(
        update={"loss": loss, "scale": 2.0, "margin": 0.7, "similarity": similarity}
    )
    generator = torch.Generator().manual_seed(1)
    for rows in ([0, 1, 2, 3, 4], [4, 2, 0], [1, 3], [1, 3, 4], [0, 3], [2]):
        queries, codes = (
            torch.randn(len(rows), 3, generator=generator, requires_grad=True) for _ in range(2)
        )
        here = {
            (i, j) for i, one in enumerate(rows) for j, other in enumerate(rows)
            if (one, other) in OTHERS
        }  # fmt: skip
        found = loss_of(recipe, LABELS[rows], queries, codes)
        sides = [queries.detach(), codes.detach()]
        asked, answers = map(normalize, sides) if similarity == "cosine" else sides
        assert found.item() == pytest.approx(plain(recipe, asked @ answers.T, here), abs=1e-5), rows
        found.backward()  # type: ignore[no-untyped-call]
        assert queries.grad is not None
        assert torch.isfinite(queries.grad).all()


def test_sixteen_right_codes_of_a_query_can_be_learnt() -> None:
    labels = torch.tensor([[row // 16, row] for row in range(64)])
    vectors = torch.eye(4).repeat_interleave(16, dim=0)
    recipe = RECIPES["cosqa-plus"]
    assert loss_of(recipe, labels, vectors, vectors).item() < 1e-3 < log(16)


Trained = tuple[dict[str, Tensor], History]
SMALL: dict[str, Any] = {"epochs": 3, "batch_size": 8, "learning_rate": 1e-3}


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


@pytest.mark.parametrize(
    ("encoder", "recipe"),
    [("roberta-base", "codexglue"), ("codet5p", "cosqa-plus"), ("unixcoder", "cosqa-plus")],
)
def test_losses_and_weights_are_those_of_the_published_loop(
    encoder: str, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = checkpoint(encoder, tmp_path / "base", 64)
    inputs = inputs_of(
        tmp_path, f"checkpoint:small={base}?like={encoder}&dimension=64", number=27, recipe=recipe,
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
    far = (flat(cast("nn.Module", trained.transformer)) - best).norm() / (best - before).norm()
    assert far.item() < 1e-2


class KilledError(Exception):
    """Stands for the end of a process."""


def killed_after(steps: int) -> Any:
    def tell(progress: TrainingProgress) -> None:
        if progress.step >= steps:
            raise KilledError

    return tell


@pytest.mark.parametrize("is_cut", [False, True], ids=["whole", "cut"])
def test_a_killed_run_is_resumed_to_the_weights_of_an_undisturbed_one(
    tmp_path: Path, undisturbed: Trained, *, is_cut: bool
) -> None:
    expected, history = undisturbed
    killed = job(tmp_path)
    with pytest.raises(KilledError):
        train(killed, killed_after(random.randrange(9, 12)))
    if is_cut:  # killed while it wrote the last checkpoint
        (killed.folder / "checkpoint-8" / "trainer_state.json").unlink()
    resumed, again = train(killed, ignore)
    assert_equal(weights(resumed), expected)
    torch.testing.assert_close(again.scores, history.scores, atol=1e-6, rtol=0)
    assert again.model_dump(include={"steps", "before", "best_epoch"}) == history.model_dump(
        include={"steps", "before", "best_epoch"}
    )


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
    found = dev_evaluator(work.dev, work.recipe)(SentenceTransformer(modules=[Tower(model)]))
    qrels = qrels_of(work.dev.labels)
    own = {code for codes in qrels.values() for code in codes}
    is_all = work.recipe.dev_codes == "all"
    texts = {each.code_id: each.text for each in work.dev.codes if is_all or each.code_id in own}
    queries = {each.query_id: each.text for each in work.dev.queries}
    codes = {code: texts[code] for code in sorted(texts)}
    similarity = work.recipe.similarity
    rankings = rank_vectors(
        {"": vectors_of(model, [*queries.values()], "query", similarity)},
        in_memory({"": vectors_of(model, [*codes.values()], "code", similarity)}),
        [*queries],
        [*codes],
        1_000,
    )
    by_query = evaluate(rankings, qrels, [work.recipe.metric])[work.recipe.metric]
    metric = {"MRR": "dev_mrr@1000", "NDCG@10": "dev_ndcg@10"}[work.recipe.metric]
    assert found[metric] == pytest.approx(mean(by_query.values()), abs=1e-6)


def test_weights_that_are_no_numbers_any_more_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"training\.learning_rate"):
        train(job(tmp_path, learning_rate=1e30), ignore)


def scored_by(monkeypatch: pytest.MonkeyPatch, scores: Sequence[float]) -> None:
    """Let the dev queries have these scores, the first one before training."""
    left = iter(scores)

    def score(*_: Any, **__: Any) -> dict[str, float]:
        return {"dev_ndcg@10": next(left)}

    monkeypatch.setattr(InformationRetrievalEvaluator, "__call__", score)


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


def test_a_resumed_run_keeps_its_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = job(tmp_path, epochs=9, patience=2)
    scored_by(monkeypatch, [0.1, 0.9, 0.3])
    with pytest.raises(KilledError):
        train(killed, killed_after(9))
    scored_by(monkeypatch, [0.4])
    _, history = train(killed, ignore)
    assert history.scores == ((1.0, 0.9), (2.0, 0.3), (3.0, 0.4))
    assert (history.before, history.best_epoch) == (0.1, 1.0)


def test_progress_has_each_loss_and_dev_score(tmp_path: Path) -> None:
    progress: list[TrainingProgress] = []
    _, history = train(job(tmp_path), progress.append)
    assert history.device == "cpu"
    assert [each.step for each in progress if each.loss] == list(range(1, 13))
    assert [each.epoch for each in progress if each.score is not None] == [0, 1, 2, 3]
    assert history.losses == tuple((each.step, each.loss) for each in progress if each.loss)


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
