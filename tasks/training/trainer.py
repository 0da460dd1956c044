"""Training of one model, by sentence-transformers' trainer.

The trainer, its losses, schedule, checkpoints and resumption are the library's; what is here joins
them to this project's encoders, data and metrics. A run leaves checkpoints in its folder after each
epoch and every few minutes; another run over the same folder goes on from the last whole one, and
ends with the same weights.
"""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from zipfile import is_zipfile

import numpy as np
import torch
from datasets import Dataset, disable_progress_bars
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model, save_model
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.modules import InputModule
from sentence_transformers.sentence_transformer.data_collator import (
    SentenceTransformerDataCollator,
)
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.util import cos_sim, dot_score
from torch import Tensor, nn
from torch.nn.functional import normalize
from transformers import PrinterCallback, TrainerCallback, TrainerState

from infra.batches import batched
from infra.disk import OTHER_OUTPUT, free_bytes, space_on
from infra.errors import TrainingError
from infra.records import caseless
from infra.words import words
from tasks.benchmarks.benchmark import Benchmark
from tasks.benchmarks.pairs import Pairs
from tasks.encoders import Kind
from tasks.filters.near_duplicates import clusters
from tasks.training.job import History, TrainingJob, TrainingProgress
from tasks.training.models import models
from tasks.training.models._joint import Features, JointModel
from tasks.training.models._text import defined_name
from tasks.training.recipes import Recipe

_BEFORE = "before"  # in the trainer's log: the dev score before the first step
_STATE = "trainer_state.json"  # written last into a checkpoint
_WEIGHTS = "model.safetensors"
_OTHERS = ("optimizer.pt", "scheduler.pt", "rng_state.pth")
_DEPTH = 1_000  # of the dev rankings, as the authors of CoSQA+ have it
_LOGS_AN_EPOCH = 20
_FEWEST_AT_ONCE, _MOST_PARTS = 16, 32  # texts of a batch that are computed together; parts of it
_SPARE_BYTES = 1 << 20
_KINDS: dict[str, Kind] = {"query": "query", "code": "code", "document": "code"}  # by task


class FineTuned(JointModel):
    """A transformer encoder as a module that is trained: one for both sides."""

    def __init__(self, encoder: Any) -> None:  # noqa: ANN401 - a TransformerEncoder
        super().__init__()
        self.transformer = encoder.model
        self._encoder = encoder
        self.dimension = encoder.spec.dimension

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return the tokens of texts."""
        found: dict[str, Tensor] = self._encoder.features(texts, kind)
        return found

    def forward(self, features: Features, kind: Kind) -> Tensor:  # noqa: ARG002 - one for both
        """Return the vectors."""
        vectors: Tensor = self._encoder.forward(features)
        return vectors

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer into a folder."""
        self._encoder.save(folder)


class _Tower(InputModule):
    """A model as the one module of a SentenceTransformer.

    The texts of a batch are computed in parts of similar length, so that little is padded.
    """

    def __init__(self, model: JointModel) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model = model

    def preprocess(
        self,
        inputs: Sequence[Any],
        prompt: str | None = None,  # noqa: ARG002 - specifications have prefixes
        **more: Any,  # noqa: ANN401 - the library's
    ) -> dict[str, Any]:
        kind = _KINDS[more["task"]]
        order = sorted(range(len(inputs)), key=lambda row: len(inputs[row]))
        at_once = max(_FEWEST_AT_ONCE, -(-len(order) // _MOST_PARTS))
        parts = [
            self.model.features([inputs[row] for row in rows], kind)
            for rows in batched(order, at_once)
        ]
        # By this name the trainer tells one column's features from the other's.
        return {"input_ids": torch.tensor(order), "parts": parts, "kind": kind}

    def forward(self, features: dict[str, Any], **_: object) -> dict[str, Any]:
        found = torch.cat([self.model(part, features["kind"]) for part in features["parts"]])
        return {"sentence_embedding": found[features["input_ids"].argsort()]}

    def save(self, output_path: str, *_: object, **__: object) -> None:
        raise NotImplementedError(output_path)  # the trainer below saves the weights alone


class RightOnes:
    """Which codes of a batch answer a query beside its own: a loss draws none of them as wrong.

    A code is right for a query if it, or a near duplicate, is paired with the query in any letters.

    Args:
        codes: The codes of all pairs.
        queries: The queries of all pairs, and those that stand in their place.
    """

    def __init__(self, codes: Sequence[str], *queries: Sequence[str]) -> None:
        unique = list(dict.fromkeys(codes))
        cluster = dict(zip(unique, clusters(unique), strict=True))
        self._clusters = torch.tensor([cluster[code] for code in codes])
        self._number = len(unique)
        self._queries = []
        for texts in dict.fromkeys(map(tuple, queries)):
            place: dict[str, int] = {}
            rows = [place.setdefault(caseless(text), len(place)) for text in texts]
            self._queries.append(torch.tensor(rows))
        keys = [self._keys(each, self._clusters).numpy() for each in self._queries]
        self._pairs = [torch.from_numpy(np.unique(each)) for each in keys]

    def of(self, rows: Tensor) -> Tensor:
        """Return (query, code) → whether it is another right one, for rows of all pairs."""
        here = rows.cpu()
        found = torch.zeros(len(here), len(here), dtype=torch.bool)
        for queries, pairs in zip(self._queries, self._pairs, strict=True):
            keys = self._keys(queries[here, None], self._clusters[here])
            found |= pairs[torch.searchsorted(pairs, keys).clamp(max=len(pairs) - 1)] == keys
        return found.fill_diagonal_(fill_value=False).to(rows.device)

    def _keys(self, queries: Tensor, codes: Tensor) -> Tensor:
        return queries * self._number + codes


class _SoftmaxLoss(MultipleNegativesRankingLoss):
    """The library's loss, without a query's other right codes among its wrong ones."""

    def __init__(self, model: SentenceTransformer, recipe: Recipe, right: RightOnes) -> None:
        super().__init__(model, scale=recipe.scale)
        self._similarity = cos_sim if recipe.similarity == "cosine" else dot_score
        self._right = right

    def forward(self, sentence_features: Any, labels: Tensor) -> Tensor:  # noqa: ANN401 - the library's
        """Return the loss of pairs, whose rows are the labels."""
        right = self._right.of(labels)
        self.similarity_fct = lambda queries, codes: self._similarity(queries, codes).masked_fill(
            right, -torch.inf
        )
        loss: Tensor = super().forward(sentence_features, labels)
        return loss


class _MarginLoss(nn.Module):
    """What belongs together must be nearer than another one of the batch, by a margin.

    Husain et al. 2019, for the neural bag of words: a query's own code than the nearest other code.
    Gu et al. 2018, DeepCS, and its code: a code's own query than another query, which is the next
    in the batch, whose order is random. Another one is never one that belongs together too.
    """

    def __init__(self, model: SentenceTransformer, recipe: Recipe, right: RightOnes) -> None:
        super().__init__()
        self.model = model
        self._recipe = recipe
        self._right = right

    def forward(self, features: Sequence[dict[str, Any]], labels: Tensor) -> Tensor:
        """Return the loss of pairs, whose rows are the labels."""
        queries, codes = (self.model(each)["sentence_embedding"] for each in features)
        if self._recipe.similarity == "cosine":
            queries, codes = normalize(queries, dim=1), normalize(codes, dim=1)
        similar: Tensor = queries @ codes.T
        right = self._right.of(labels).fill_diagonal_(fill_value=True)
        if self._recipe.loss == "hardest-margin":
            # Half-spaces apart are apart enough, as in the published code.
            other = similar.masked_fill(right, -torch.inf).relu().amax(dim=1)
        else:
            number = len(similar)
            here = torch.arange(number, device=similar.device)
            behind = (here[:, None] + here + 1) % number  # the queries after each code's own
            nearest = right[behind, here].long().argmin(dim=0)
            other = similar.masked_fill(right, -torch.inf)[behind[nearest, here], here]
        return (self._recipe.margin - similar.diagonal() + other).relu().mean()


class _DevScore(InformationRetrievalEvaluator):
    """The library's ranking of the dev queries over their code base, in the recipe's metric."""

    def __init__(self, dev: Benchmark, recipe: Recipe) -> None:
        relevant: dict[str, set[str]] = {}
        for label in dev.labels:
            if label.relevance > 0:
                relevant.setdefault(label.query_id, set()).add(label.code_id)
        own = set().union(*relevant.values())
        super().__init__(
            {each.query_id: each.text for each in dev.queries},
            {
                each.code_id: each.text
                for each in dev.codes
                if recipe.dev_codes == "all" or each.code_id in own
            },
            relevant,
            mrr_at_k=[_DEPTH],
            write_csv=False,
            score_functions={"dev": cos_sim if recipe.similarity == "cosine" else dot_score},
        )
        self.primary_metric = recipe.metric
        self._name = {"MRR": f"dev_mrr@{_DEPTH}", "NDCG@10": "dev_ndcg@10"}[recipe.metric]

    def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:  # noqa: ANN401
        """Return the metric's mean over the queries."""
        if not all(weights.isfinite().all() for weights in model.parameters()):
            raise TrainingError(
                "the weights are no numbers any more: take a lower training.learning_rate or "
                "another base"
            )
        return {str(self.primary_metric): super().__call__(model)[self._name]}


class _Watch(TrainerCallback):
    """Tells of the progress, asks for a checkpoint every few minutes, and ends training early."""

    def __init__(
        self,
        job: TrainingJob,
        dev: _DevScore,
        tell: Callable[[TrainingProgress], None],
        an_epoch: int,
    ) -> None:
        self._dev = dev
        self._tell = tell
        self._recipe = job.recipe
        self._an_epoch = an_epoch
        self._every_s = 60 * job.checkpoint_minutes
        self._metric = f"eval_{job.recipe.metric}"
        self._saved = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any, **_: Any) -> None:  # type: ignore[override]  # noqa: ANN401, ARG002
        if not state.global_step:
            state.log_history.append(_first(self._dev(model), self._recipe))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ANN401, ARG002
        told = logs or {}
        if "loss" in told or self._metric in told:
            self._tell(
                TrainingProgress(
                    step=state.global_step,
                    epoch=state.epoch or 0.0,
                    loss=told.get("loss"),
                    score=told.get(self._metric),
                )
            )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        # At the end of an epoch there is one after the dev score.
        if state.global_step % self._an_epoch and time.monotonic() - self._saved >= self._every_s:
            control.should_save = True

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        control.should_training_stop = _is_over(state.log_history, self._recipe)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        self._saved = time.monotonic()


class _Trainer(SentenceTransformerTrainer):
    """The library's trainer, whose checkpoints hold the weights alone, and are whole.

    Attributes:
        module: What is trained.
    """

    module: nn.Module

    def add_model_card_callback(self, _: Any) -> None:  # noqa: ANN401
        """Leave out the examples of a model card, which is not written."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:  # noqa: ANN401, ARG002
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self.module, str(folder / _WEIGHTS))

    def _load_from_checkpoint(self, checkpoint_path: str, *_: Any) -> None:  # noqa: ANN401
        load_model(self.module, str(Path(checkpoint_path) / _WEIGHTS))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:  # noqa: ANN401
        folder = Path(str(self.args.output_dir))
        try:
            with space_on(folder, OTHER_OUTPUT):
                super()._save_checkpoint(model, trial)
        except Exception as error:
            shutil.rmtree(folder / f"checkpoint-{self.state.global_step}", ignore_errors=True)
            # torch says of a full disk that its writer failed, and no more.
            if isinstance(error, RuntimeError) and free_bytes(folder) < _SPARE_BYTES:
                with space_on(folder, OTHER_OUTPUT):
                    raise OSError(28, str(error)) from error
            raise


def train(job: TrainingJob, tell: Callable[[TrainingProgress], None]) -> tuple[Any, History]:
    """Return the trained model with the weights of its best epoch, and how that came about.

    Args:
        job: What to train. Where its folder has checkpoints of the same job, it goes on from the
            last whole one.
        tell: Is told of the progress.

    Raises:
        EncoderError: The base cannot be loaded.
        TrainingError: The weights are no numbers any more.
    """
    started = time.monotonic()
    model = _model_of(job)
    disable_progress_bars()
    job.folder.mkdir(parents=True, exist_ok=True)
    tower = SentenceTransformer(modules=[_Tower(model)])
    dev = _DevScore(job.dev, job.recipe)
    if job.recipe.loss == "none":
        return model, _history(job, model, [_first(dev(tower), job.recipe)], started)
    last = last_checkpoint(job.folder)
    state = TrainerState.load_from_json(str(last / _STATE)) if last else TrainerState()
    if not _is_over(state.log_history, job.recipe):
        trainer = _trainer(job, tower, dev, tell)
        trainer.module = model
        trainer.train(resume_from_checkpoint=str(last) if last else None)
        state = trainer.state
    best = job.folder / f"checkpoint-{state.best_global_step}"
    try:
        load_model(model, best / _WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            f"the best epoch's {best} cannot be read ({error}): remove {job.folder}, and train anew"
        ) from error
    return model, _history(job, model, state.log_history, started)


def _first(scores: Mapping[str, float], recipe: Recipe) -> dict[str, Any]:
    """Return the entry of the trainer's log with the dev score before the first step."""
    return {"epoch": 0.0, "step": 0, _BEFORE: scores[recipe.metric]}


def _is_over(log: Sequence[dict[str, Any]], recipe: Recipe) -> bool:
    """Return whether so many epochs as the recipe has patience were no better than the best."""
    metric = f"eval_{recipe.metric}"
    scores = [entry[metric] for entry in log if metric in entry]
    return bool(scores) and 0 < recipe.patience < len(scores) - scores.index(max(scores))


def progress_of_training(job: TrainingJob, folder: Path) -> Iterator[TrainingProgress | History]:
    """Yield the progress of a training, at the end its history; the model is saved then.

    Args:
        job: What to train.
        folder: Where the model is saved.

    Raises:
        CosqaError: What `train` raises.
    """
    told: SimpleQueue[TrainingProgress | None] = SimpleQueue()

    def work() -> History:
        try:
            model, history = train(job, told.put)
            with space_on(folder, OTHER_OUTPUT):
                model.save(folder)
            return history
        finally:
            told.put(None)

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(work)
        while (progress := told.get()) is not None:
            yield progress
        yield done.result()


def _model_of(job: TrainingJob) -> JointModel:
    if isinstance(job.base, str):
        codes: Sequence[str] = job.pairs.codes
        if job.recipe.loss == "none":  # what is made of texts alone is made of all that is searched
            codes = [*dict.fromkeys([*codes, *(code.text for code in job.dev.codes)])]
        made: JointModel = models.get(job.base).of(job.pairs.queries, codes, job.recipe)
        return made
    kind: Any = getattr(job.base, "kind", job.base)
    folder = getattr(job.base, "folder", None)
    return FineTuned(kind(folder, job.base.spec))


def last_checkpoint(folder: Path) -> Path | None:
    """Return the last whole checkpoint of a folder; those that are not whole are removed."""
    whole = []
    for found in folder.glob("checkpoint-*"):
        if _is_whole(found):
            whole.append(found)
        else:
            shutil.rmtree(found, ignore_errors=True)
    return max(whole, key=lambda found: int(found.name.rpartition("-")[2]), default=None)


def _is_whole(checkpoint: Path) -> bool:
    try:
        with safe_open(checkpoint / _WEIGHTS, "pt"):
            json.loads((checkpoint / _STATE).read_text("utf-8"))
    except (OSError, ValueError, SafetensorError):
        return False
    return all(is_zipfile(checkpoint / name) for name in _OTHERS)


def _trainer(
    job: TrainingJob,
    tower: SentenceTransformer,
    dev: _DevScore,
    tell: Callable[[TrainingProgress], None],
) -> _Trainer:
    recipe = job.recipe
    pairs = with_names_as_queries(job.pairs, recipe)
    an_epoch = -(-len(pairs) // recipe.batch_size)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(job.folder),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        learning_rate=recipe.learning_rate,
        weight_decay=0.0,
        max_grad_norm=1.0,
        lr_scheduler_type="linear" if recipe.schedule == "linear" else "constant_with_warmup",
        warmup_steps=int(recipe.warm_up * an_epoch * recipe.epochs),
        seed=recipe.seed,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,  # the last one, and the best
        metric_for_best_model=recipe.metric,
        greater_is_better=True,
        logging_steps=max(1, an_epoch // _LOGS_AN_EPOCH),
        dataloader_pin_memory=tower.device.type == "cuda",
        disable_tqdm=True,
        report_to=[],
    )
    right = RightOnes(job.pairs.codes, job.pairs.queries, pairs.queries)
    loss = (_SoftmaxLoss if recipe.loss == "softmax" else _MarginLoss)(tower, recipe, right)
    columns = {"query": [*pairs.queries], "code": [*pairs.codes], "label": [*range(len(pairs))]}
    trainer = _Trainer(
        model=tower,
        args=arguments,
        train_dataset=Dataset.from_dict(columns),
        loss=loss,
        evaluator=dev,
        data_collator=SentenceTransformerDataCollator(
            tower.preprocess, router_mapping={"query": "query", "code": "code"}
        ),
        callbacks=[_Watch(job, dev, tell, an_epoch)],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


_FEWEST_OF_NAME = 12  # characters, as in CodeSearchNet's code


def with_names_as_queries(pairs: Pairs, recipe: Recipe) -> Pairs:
    """Return pairs of which some have the function's name, masked in the code, as their query.

    Source: Husain et al. 2019, and the challenge's code: one in ten, of at least 12 characters.
    """
    if not recipe.names_as_queries:
        return pairs
    drawn = torch.rand(len(pairs), generator=torch.Generator().manual_seed(recipe.seed))
    chosen = (drawn < recipe.names_as_queries).tolist()
    changed = [
        _named(query, code) if is_chosen else (query, code)
        for query, code, is_chosen in zip(pairs.queries, pairs.codes, chosen, strict=True)
    ]
    queries, codes = zip(*changed, strict=True)
    return Pairs(pairs.name, queries, codes, pairs.left_out, pairs.fingerprint)


def _named(query: str, code: str) -> tuple[str, str]:
    name = defined_name(code)
    if len(name) < _FEWEST_OF_NAME or not (found := words(name)):
        return query, code
    return " ".join(found), re.sub(rf"\b{re.escape(name)}\b", "_", code)


def _history(
    job: TrainingJob,
    model: JointModel,
    log: Sequence[dict[str, Any]],
    started: float,
) -> History:
    metric = f"eval_{job.recipe.metric}"
    scores = tuple((entry["epoch"], entry[metric]) for entry in log if metric in entry)
    return History(
        metric=job.recipe.metric,
        before=next(entry[_BEFORE] for entry in log if _BEFORE in entry),
        losses=tuple((entry["step"], entry["loss"]) for entry in log if "loss" in entry),
        scores=scores,
        best_epoch=max(scores, key=lambda each: each[1])[0] if scores else 0.0,
        steps=max((entry["step"] for entry in log), default=0),
        dimension=model.dimension,
        seconds=time.monotonic() - started,
        device=str(next(model.parameters(), torch.empty(0)).device),
    )
