"""Training of one model by sentence-transformers' trainer.

The trainer, its schedule, dev ranking, early stopping, checkpoints and resumption are the
library's. This module adds the papers' losses and joins the library to this project's models. A run
leaves a checkpoint after each epoch; another run over the same folder resumes from the last one.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, disable_progress_bars
from safetensors.torch import load_model, save_model
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.util import cos_sim, dot_score
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback

from infra.errors import TrainingError
from infra.records import caseless
from infra.text import words
from tasks.benchmarks.benchmark import Benchmark, qrels_of
from tasks.encoders import Kind
from tasks.inputs.pairs import Pairs
from tasks.training._tower import Tower
from tasks.training.joint import Features, JointModel
from tasks.training.model_text import defined_name
from tasks.training.models import models
from tasks.training.recipes import History, Recipe, TrainingJob, TrainingProgress

_WEIGHTS = "model.safetensors"
_DEV = "dev"  # the similarity's name in the library's metrics
_DEPTH = 1_000  # of the dev rankings, as in the code of CoSQA+'s authors
_METRICS = {"MRR": f"eval_{_DEV}_mrr@{_DEPTH}", "NDCG@10": f"eval_{_DEV}_ndcg@10"}
_LOGS_PER_EPOCH = 20
_SHORTEST_NAME = 12  # characters, as in CodeSearchNet's code


class FineTuned(JointModel):
    """A transformer encoder as a module that is trained: one for both sides."""

    def __init__(self, encoder: Any) -> None:  # noqa: ANN401 - a TransformerEncoder
        super().__init__()
        self.transformer = encoder.network.transformer
        self._encoder = encoder
        self.dimension = encoder.spec.dimension

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return the tokens of texts."""
        found: dict[str, Tensor] = self._encoder.features(texts, kind)
        return found

    def forward(self, features: Features, kind: Kind) -> Tensor:  # noqa: ARG002 - one for both
        """Return the vectors."""
        vectors: Tensor = self._encoder.network.unscaled(**features)
        return vectors

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer into a folder."""
        self._encoder.save(folder)


def softmax_loss(similar: Tensor, right: Tensor, recipe: Recipe) -> Tensor:
    """Return the cross-entropy of each query's own code among the batch's codes.

    Args:
        similar: (pairs, pairs) similarities of the batch's queries and codes.
        right: (pairs, pairs) whether a code answers a query; the diagonal is true.
        recipe: The scale.
    """
    own = torch.arange(len(similar), device=similar.device)
    other_answers = right.clone().fill_diagonal_(fill_value=False)
    logits = (recipe.scale * similar).masked_fill(other_answers, -torch.inf)
    return cross_entropy(logits, own)


def hardest_margin_loss(similar: Tensor, right: Tensor, recipe: Recipe) -> Tensor:
    """Return by how much a query's own code misses its margin to the nearest wrong code.

    Source: Husain et al. 2019, neural bag of words; similarities below 0 count as 0, as in the
    published code. Arguments as in `softmax_loss`.
    """
    nearest = similar.masked_fill(right, -torch.inf).relu().amax(dim=1)
    return (recipe.margin - similar.diagonal() + nearest).relu().mean()


def random_margin_loss(similar: Tensor, right: Tensor, recipe: Recipe) -> Tensor:
    """Return by how much a code's own query misses its margin to a wrong query.

    Source: Gu et al. 2018, DeepCS, and its code. The wrong query is the next one in the batch,
    whose order is random, that the code does not answer. Arguments as in `softmax_loss`.
    """
    number = len(similar)
    own = torch.arange(number, device=similar.device)
    following = (own[:, None] + own + 1) % number  # (places behind, code) → query
    first_wrong = right[following, own].long().argmin(dim=0)
    wrong = similar.masked_fill(right, -torch.inf)[following[first_wrong, own], own]
    return (recipe.margin - similar.diagonal() + wrong).relu().mean()


_LOSSES = {
    "softmax": softmax_loss,
    "hardest-margin": hardest_margin_loss,
    "random-margin": random_margin_loss,
}


class PairLoss(nn.Module):
    """The recipe's loss of a batch of pairs.

    A query's other answers in the batch are not wrong codes: those of a pair with the same query
    text or the same code.
    """

    def __init__(self, model: SentenceTransformer, recipe: Recipe) -> None:
        super().__init__()
        self.model = model
        self._recipe = recipe

    def forward(self, features: Sequence[dict[str, Any]], labels: Tensor) -> Tensor:
        """Return the loss; labels are (pairs, 2) numbers of the query text and of the code."""
        queries, codes = (self.model(each)["sentence_embedding"] for each in features)
        if self._recipe.similarity == "cosine":
            queries, codes = normalize(queries, dim=1), normalize(codes, dim=1)
        right = (labels[:, None] == labels).any(dim=2)
        return _LOSSES[self._recipe.loss](queries @ codes.T, right, self._recipe)


def dev_evaluator(dev: Benchmark, recipe: Recipe) -> InformationRetrievalEvaluator:
    """Return the library's ranking of the dev queries over the recipe's codes."""
    relevant = {
        query: {code for code, relevance in codes.items() if relevance > 0}
        for query, codes in qrels_of(dev.labels).items()
    }
    own = set().union(*relevant.values())
    return InformationRetrievalEvaluator(
        {each.query_id: each.text for each in dev.queries},
        {
            each.code_id: each.text
            for each in dev.codes
            if recipe.dev_codes == "all" or each.code_id in own
        },
        relevant,
        mrr_at_k=[_DEPTH],
        write_csv=False,
        score_functions={_DEV: cos_sim if recipe.similarity == "cosine" else dot_score},
    )


class _Progress(TrainerCallback):
    """Emits the trainer's log, and refuses weights that are no numbers."""

    def __init__(self, metric: str, emit: Callable[[TrainingProgress], None]) -> None:
        self._metric = metric
        self._emit = emit

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ANN401, ARG002
        self._emit(
            TrainingProgress(
                step=state.global_step,
                epoch=state.epoch or 0.0,
                loss=logs.get("loss"),
                score=logs.get(self._metric),
            )
        )

    def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:  # noqa: ANN401, ARG002
        if not all(weights.isfinite().all() for weights in model.parameters()):
            raise TrainingError(
                "the weights are no numbers any more: take a lower training.learning_rate or "
                "another base"
            )


class _Trainer(SentenceTransformerTrainer):
    """The library's trainer, whose checkpoints hold the module's weights without its code.

    Attributes:
        module: The trained module.
    """

    module: nn.Module

    def add_model_card_callback(self, _: Any) -> None:  # noqa: ANN401
        """Write no model card."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:  # noqa: ANN401, ARG002
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self.module, str(folder / _WEIGHTS))

    def _load_from_checkpoint(self, checkpoint_path: str, *_: Any) -> None:  # noqa: ANN401
        load_model(self.module, str(Path(checkpoint_path) / _WEIGHTS))


def train(job: TrainingJob, emit: Callable[[TrainingProgress], None]) -> tuple[JointModel, History]:
    """Return the trained model with the weights of its best epoch, and its history.

    Args:
        job: The job. Where its folder has checkpoints of the same job, training resumes from the
            last one.
        emit: Takes the progress.

    Raises:
        EncoderError: The base cannot be loaded.
        TrainingError: The weights are no numbers any more.
    """
    started = time.monotonic()
    model = _model_of(job)
    disable_progress_bars()
    job.folder.mkdir(parents=True, exist_ok=True)
    tower = SentenceTransformer(modules=[Tower(model)])
    evaluator, metric = dev_evaluator(job.dev, job.recipe), _METRICS[job.recipe.metric]
    if job.recipe.loss == "none":
        score = evaluator(tower)[metric.removeprefix("eval_")]
        return model, _history(job, model, [{"epoch": 0.0, "step": 0, metric: score}], started)
    steps = [
        int(state.parent.name.partition("-")[2])
        for state in job.folder.glob("checkpoint-*/trainer_state.json")  # written last
    ]
    last = str(job.folder / f"checkpoint-{max(steps)}") if steps else None
    trainer = _trainer(job, tower, evaluator, is_resumed=last is not None)
    trainer.module = model
    trainer.add_callback(_Progress(metric, emit))
    trainer.train(resume_from_checkpoint=last)
    load_model(model, Path(str(trainer.state.best_model_checkpoint)) / _WEIGHTS)
    return model, _history(job, model, trainer.state.log_history, started)


def _model_of(job: TrainingJob) -> JointModel:
    if isinstance(job.base, str):
        codes: Sequence[str] = job.pairs.codes
        if job.recipe.loss == "none":  # a model of texts alone is made of the searched code base
            codes = [*dict.fromkeys([*codes, *(code.text for code in job.dev.codes)])]
        made: JointModel = models.get(job.base).of(job.pairs.queries, codes, job.recipe)
        return made
    return FineTuned(job.base())


def _trainer(
    job: TrainingJob,
    tower: SentenceTransformer,
    evaluator: InformationRetrievalEvaluator,
    *,
    is_resumed: bool,
) -> _Trainer:
    recipe = job.recipe
    pairs = with_names_as_queries(job.pairs, recipe)
    steps = -(-len(pairs) // recipe.batch_size)  # of an epoch
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(job.folder),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        learning_rate=recipe.learning_rate,
        weight_decay=0.0,
        max_grad_norm=1.0,
        lr_scheduler_type="linear" if recipe.schedule == "linear" else "constant_with_warmup",
        warmup_steps=int(recipe.warm_up * steps * recipe.epochs),
        seed=recipe.seed,
        eval_strategy="epoch",
        eval_on_start=not is_resumed,
        save_strategy="epoch",
        save_total_limit=2,  # the last one, and the best
        metric_for_best_model=_METRICS[recipe.metric],
        restore_callback_states_from_checkpoint=True,
        logging_steps=max(1, steps // _LOGS_PER_EPOCH),
        dataloader_pin_memory=tower.device.type == "cuda",
        disable_tqdm=True,
        report_to=[],
    )
    trainer = _Trainer(
        model=tower,
        args=arguments,
        train_dataset=Dataset.from_dict(
            {
                "query": [*pairs.queries],
                "code": [*pairs.codes],
                "label": [
                    *zip(_numbers(map(caseless, pairs.queries)), _numbers(pairs.codes), strict=True)
                ],
            }
        ),
        loss=PairLoss(tower, recipe),
        evaluator=evaluator,
        data_collator=SentenceTransformerDataCollator(
            tower.preprocess, router_mapping={"query": "query", "code": "code"}
        ),
        callbacks=[EarlyStoppingCallback(recipe.patience)] if recipe.patience else [],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _numbers(texts: Iterable[str]) -> list[int]:
    """Return a number for each text, the same for equal ones."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(text, len(numbers)) for text in texts]


def with_names_as_queries(pairs: Pairs, recipe: Recipe) -> Pairs:
    """Return pairs of which some have the function's name, masked in the code, as their query.

    Source: Husain et al. 2019, and the challenge's code: one in ten, of at least 12 characters.
    """
    if not recipe.names_as_queries:
        return pairs
    sample = torch.rand(len(pairs), generator=torch.Generator().manual_seed(recipe.seed))
    chosen = (sample < recipe.names_as_queries).tolist()
    changed = []
    for query, code, is_chosen in zip(pairs.queries, pairs.codes, chosen, strict=True):
        name = defined_name(code) if is_chosen else ""
        asked = words(name) if len(name) >= _SHORTEST_NAME else []
        masked = re.sub(rf"\b{re.escape(name)}\b", "_", code) if asked else code
        changed.append((" ".join(asked) if asked else query, masked))
    queries, codes = zip(*changed, strict=True)
    return Pairs(pairs.name, queries, codes, pairs.left_out, pairs.fingerprint)


def _history(
    job: TrainingJob,
    model: JointModel,
    log: Sequence[dict[str, Any]],
    started: float,
) -> History:
    metric = _METRICS[job.recipe.metric]
    before, *scores = [(entry["epoch"], entry[metric]) for entry in log if metric in entry]
    return History(
        metric=job.recipe.metric,
        before=before[1],
        losses=tuple((entry["step"], entry["loss"]) for entry in log if "loss" in entry),
        scores=tuple(scores),
        best_epoch=max(scores, key=lambda each: each[1])[0] if scores else 0.0,
        steps=log[-1]["step"],
        dimension=model.dimension,
        seconds=time.monotonic() - started,
        device=str(next(model.parameters(), torch.empty(0)).device),
    )
