"""A training job, its progress and its history, without heavy imports."""

from dataclasses import dataclass
from pathlib import Path

from infra.records import Record
from tasks.benchmarks.benchmark import Benchmark
from tasks.encoders import EncoderClass
from tasks.inputs.pairs import Pairs
from tasks.training.recipes import Recipe


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
    pairs: Pairs
    dev: Benchmark
    folder: Path

    @property
    def model_folder(self) -> Path:
        """The folder in which the trained model is saved."""
        return self.folder / "model"
