"""What is to be trained, how far that is, and what it left: without any heavy import."""

from dataclasses import dataclass
from pathlib import Path

from infra.records import Record
from tasks.benchmarks.benchmark import Benchmark
from tasks.benchmarks.pairs import Pairs
from tasks.encoders import EncoderClass
from tasks.training.recipes import Recipe


class TrainingProgress(Record):
    """How far a training is.

    Attributes:
        step: Steps that were taken.
        epoch: Times that the pairs were gone through, in parts of one.
        loss: Mean loss since the last report; None where there is none.
        score: The dev score, where the dev queries were just ranked.
    """

    step: int
    epoch: float
    loss: float | None = None
    score: float | None = None


class History(Record):
    """What a training left besides weights.

    Attributes:
        metric: The metric of the dev queries.
        before: The dev score before the first step.
        losses: (step, mean loss since the one before).
        scores: (epoch, dev score).
        best_epoch: The one whose weights were kept.
        steps: Steps that were taken.
        dimension: Length of a vector.
        seconds: Time of training since the last start, evaluation included.
        device: What computed.
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
    """What is to be trained.

    Attributes:
        base: The class of the encoder to fine-tune, or the name of a model of
            `tasks.training.models`.
        recipe: How it is trained.
        pairs: What it is trained on.
        dev: What the best epoch is chosen by.
        folder: Where checkpoints are kept; of one job alone.
        checkpoint_minutes: Minutes between checkpoints.
    """

    base: EncoderClass | str
    recipe: Recipe
    pairs: Pairs
    dev: Benchmark
    folder: Path
    checkpoint_minutes: float = 10.0
