"""A training: its recipe, as papers and their code have it, its job and its history.

Nothing heavy is imported.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.records import Record
from tasks.encoders import EncoderClass, Similarity

if TYPE_CHECKING:
    from tasks.benchmarks.benchmark import Benchmark
    from tasks.inputs.pairs import Pairs

Loss = Literal["softmax", "hardest-margin", "random-margin", "none"]


class Recipe(Record):
    """The hyper-parameters of a training on pairs of query and code.

    Attributes:
        name: Its name.
        source: The publication.
        loss: ``softmax``: cross-entropy of each query's own code among all codes of the batch;
            ``hardest-margin``: the own code must be nearer than the nearest wrong one of the batch,
            by ``margin``; ``random-margin``: a code's own query nearer than another one of the
            batch, which is shuffled; ``none``: the model is made at once, of the whole code base. A
            query's other answers in the batch are no wrong codes.
        similarity: The similarity of query and code in the loss and in rankings by the model.
        scale: Factor of the similarities in ``softmax``.
        margin: The margin of the two margin losses.
        epochs: The most epochs.
        batch_size: Pairs in a step.
        learning_rate: The highest learning rate of AdamW, without weight decay.
        warm_up: Share of the steps in which the learning rate rises from 0.
        schedule: Whether it then falls to 0, ``linear``, or stays, ``constant``.
        pooling: Pooling of a transformer's tokens; None: its base's.
        query_length: Tokens of a query.
        code_length: Tokens of a code.
        metric: The dev queries' metric after each epoch, which chooses the best epoch.
        dev_codes: Codes that dev queries are ranked among: ``all`` of the benchmark, or their
            ``own``, those of the dev pairs.
        patience: Epochs without a better score after which training ends; 0 trains all epochs.
        names_as_queries: Share of the pairs whose query is the function's name, masked in the code.
        buckets: Rows of the table that fastText's n-grams share (``ncs``, ``unif``): its 2,000,000
            take 800 MB.
        seed: Seed of weights, order of pairs and dropout.
    """

    name: str
    source: str
    loss: Loss = "softmax"
    similarity: Similarity = "cosine"
    scale: float = Field(1.0, gt=0)
    margin: float = Field(1.0, ge=0)
    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=2)
    learning_rate: float = Field(gt=0)
    warm_up: float = Field(0.0, ge=0, le=1)
    schedule: Literal["linear", "constant"] = "linear"
    pooling: Literal["mean", "first", "pooler", "last"] | None = None
    query_length: int = Field(128, ge=4)
    code_length: int = Field(256, ge=4)
    metric: Literal["NDCG@10", "MRR"] = "NDCG@10"
    dev_codes: Literal["all", "own"] = "all"
    patience: int = Field(0, ge=0)
    names_as_queries: float = Field(0.0, ge=0, lt=1)
    buckets: int = Field(200_000, ge=1)
    seed: int = Field(123456, ge=0)


_COSQA_PLUS = Recipe(
    name="cosqa-plus",
    source="Gong et al. 2024, CoSQA+, and its authors' code",
    scale=20.0,
    epochs=10,
    batch_size=64,
    learning_rate=2e-5,
)
_CODEXGLUE = Recipe(
    name="codexglue",
    source="Lu et al. 2021, CodeXGLUE, and its code for NL-code-search-Adv",
    similarity="product",
    epochs=2,
    batch_size=32,
    learning_rate=5e-5,
    warm_up=0.1,
    pooling="pooler",
    query_length=256,
    metric="MRR",
    dev_codes="own",
)
_KAPE = _CODEXGLUE.model_copy(
    update={"name": "kape", "source": "Guo et al., KAPE; else as codexglue", "epochs": 5}
)

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {recipe.name: recipe for recipe in (_COSQA_PLUS, _CODEXGLUE, _KAPE)}
)


class TrainingProgress(Record):
    """The progress of a training.

    Attributes:
        step: Steps taken.
        epoch: Epochs done, with their fraction.
        loss: Mean loss since the last report; None where there is none.
        score: The dev score, where the dev queries were just ranked.
    """

    step: int
    epoch: float
    loss: float | None = None
    score: float | None = None


class History(Record):
    """The history of a training.

    Attributes:
        metric: The metric of the dev queries.
        before: The dev score before the first step.
        losses: (step, mean loss since the one before).
        scores: (epoch, dev score).
        best_epoch: The epoch of the weights.
        steps: Steps taken.
        dimension: Length of a vector.
        seconds: Time of training since the last start, evaluation included.
        device: The device that computed.
    """

    metric: str
    before: float
    losses: tuple[tuple[int, float], ...]
    scores: tuple[tuple[float, float], ...]
    best_epoch: float
    steps: int
    dimension: int
    seconds: float
    device: str


@dataclass(frozen=True)
class TrainingJob:
    """A training job.

    Attributes:
        base: The class of the encoder to fine-tune, or the name of a model of
            `tasks.training.models`.
        recipe: Its recipe.
        pairs: The training pairs.
        dev: The dev queries, which choose the best epoch.
        folder: The folder of this job's checkpoints and model.
    """

    base: EncoderClass | str
    recipe: Recipe
    pairs: "Pairs"
    dev: "Benchmark"
    folder: Path

    @property
    def model_folder(self) -> Path:
        """The folder in which the trained model is saved."""
        return self.folder / "model"
