"""What an export says of its judges, and of how far their labels' confidence holds its word."""

from pydantic import Field

from infra.records import Record
from tasks.statistics.calibration import Calibration


class JudgeFigures(Record):
    """A judge: a model with the agents that it plays, in one labelling round.

    Attributes:
        model: The model.
        configuration: The configuration of the agents.
        round: The labelling round, from 1.
        recipes: Its recipes; of several the newest label of a pair is its vote.
        labels: Candidates that it labelled.
        known: Labels of it whose truth is known, those of canaries among them.
        sensitivity: Of the pairs that match, the share that it labels 1, as estimated.
        specificity: Of the others, the share that it labels 0.
        cost_usd: What its candidates cost; None is unknown.
        tokens: Tokens sent and received for them; None is unknown.
    """

    model: str
    configuration: str
    round: int = 1
    recipes: tuple[str, ...]
    labels: int
    known: int
    sensitivity: float
    specificity: float
    cost_usd: float | None = None
    tokens: int | None = None


class Confidence(Record):
    """How the confidence of labels came about.

    It is the posterior probability of each label by the votes of all judges
    (`tasks.statistics.dawid_skene`).

    Attributes:
        prior: The share of candidates that match, as estimated.
        converged: Whether the estimate was found.
        judges: The judges.
        calibration: "canaries" and "people" → how well confidence tells right from wrong on pairs
            of which they say what is right; each pair is judged by rates found without it.
    """

    prior: float
    converged: bool
    judges: tuple[JudgeFigures, ...]
    calibration: dict[str, Calibration] = Field(default_factory=dict)
