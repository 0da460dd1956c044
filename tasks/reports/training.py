"""The report of a training: recipe, curves of loss and dev score, gain on test queries."""

from collections.abc import Iterator, Sequence
from math import nan

import numpy as np

from infra.records import Record
from tasks.reports.charts import curve
from tasks.reports.document import Block, Chart, Document, KeyValues, Paragraph, Section, Table
from tasks.reports.leaderboard import MethodScores
from tasks.reports.text import format_count, format_duration
from tasks.statistics.intervals import Interval, bootstrap_interval
from tasks.training.encoder import Description
from tasks.training.job import History

GAINED = ("NDCG@10", "MRR", "Recall@10")


class Gain(Record):
    """How much the encoder is better than another method on the same queries.

    Attributes:
        metric: The metric.
        method: The other method; the encoder itself where there is no other.
        before: Its mean.
        after: The encoder's.
        difference: Mean of the differences of each query, with a bootstrap interval over queries;
            None from itself.
    """

    metric: str
    method: str
    before: float
    after: float
    difference: Interval | None


class TrainingReport(Record):
    """A training.

    Attributes:
        name: The encoder that came out.
        description: The description of its folder.
        pairs: Training pairs.
        dropped: Pairs of dev or test queries that were left out of training.
        dev_queries: Queries that chose the epoch.
        history: Losses, dev scores, time.
        tested: Fingerprint of the test queries, their labels and code base.
        gains: Over other methods on the test queries; none before it was tested.
    """

    name: str
    description: Description
    pairs: int
    dropped: int
    dev_queries: int
    history: History
    tested: str
    gains: tuple[Gain, ...] = ()


def gains_of(name: str, scores: Sequence[MethodScores]) -> tuple[Gain, ...]:
    """Return a method's gains over each other one, by query; alone, its scores.

    Args:
        name: The method.
        scores: The values of all methods.
    """
    own = next(each for each in scores if each.method == name)
    gains = []
    for other in [each for each in scores if each is not own] or [own]:
        for metric in GAINED:
            queries = sorted(own.values[metric])
            after = np.array([own.values[metric][query] for query in queries])
            before = np.array([other.values[metric].get(query, nan) for query in queries])
            gains.append(
                Gain(
                    metric=metric,
                    method=other.method,
                    before=float(before.mean()),
                    after=float(after.mean()),
                    difference=None if other is own else bootstrap_interval(after - before),
                )
            )
    return tuple(gains)


def gains_table(report: TrainingReport) -> Table:
    """Return the encoder's scores and those of the others."""
    rows = [
        [gain.method, gain.metric, f"{gain.before:.4f}", f"{gain.after:.4f}", *_apart(gain)]
        for gain in report.gains
    ]
    header = ["method", "metric", "its mean", report.name, "difference", "95% interval"]
    return Table(header, rows, text_columns=2, empty="It was not tested.")


def _apart(gain: Gain) -> tuple[str, str]:
    if gain.difference is None:
        return "", ""
    return (
        f"{gain.difference.mean:+.4f}",
        f"{gain.difference.low:+.4f} to {gain.difference.high:+.4f}",
    )


def training_document(report: TrainingReport) -> Document:
    """Return the report as a document."""
    description, recipe, history = report.description, report.description.recipe, report.history
    steps = f"{format_count(history.steps)} steps"
    origin = {
        "base": " ".join(description.base.values()) or f"{description.kind}, from nothing",
        "recipe": f"{recipe.name} ({recipe.source})",
        "loss": f"{recipe.loss} over {recipe.similarity}",
        "epochs, pairs in a step": f"{recipe.epochs}, {recipe.batch_size}",
        "learning rate": f"{recipe.learning_rate:g}, {recipe.schedule}, "
        f"warm-up {recipe.warm_up:.0%}",
        "seed": str(recipe.seed),
        "recipe's hash": description.recipe_hash,
        "data": f"{description.data} ({description.data_fingerprint[:12]})",
        "pairs of dev or test queries left out": format_count(report.dropped),
        "licences of base and data": ", ".join(description.licences) or "unknown",
        "time": f"{format_duration(history.seconds)}, {steps}, on {history.device}",
    }
    return Document(
        kind="Training",
        title=f"Training: {report.name}",
        lead=[
            Paragraph(f"{recipe.name} on {description.data}: {format_count(report.pairs)} pairs")
        ],
        sections=[
            Section("gain", "On test queries", [gains_table(report), _about_gains(report)]),
            Section("curves", "While it was trained", list(_curves(history))),
            Section("by", "Recipe, base and data", [KeyValues(origin)]),
        ],
    )


def _about_gains(report: TrainingReport) -> str:
    dev = report.history
    return (
        f"Differences are of the same queries, with intervals by the bootstrap over queries. The "
        f"weights are those of epoch {dev.best_epoch:g}, the best by {dev.metric} of "
        f"{format_count(report.dev_queries)} dev queries; none was a test query."
    )


def _curves(history: History) -> Iterator[Block]:
    scores = [(0.0, history.before), *history.scores]
    if history.scores and history.losses:
        metric = f"dev {history.metric}"
        alt = f"{metric} after each epoch, as in the table"
        yield Chart(f"Dev {history.metric} by epoch", curve(alt, scores, metric))
        steps_of_epoch = history.losses[-1][0] / history.scores[-1][0]
        losses = [(step / steps_of_epoch, loss) for step, loss in history.losses]
        alt = f"loss, from {losses[0][1]:.3f} to {losses[-1][1]:.3f}"
        yield Chart("Loss by epoch", curve(alt, losses, "loss"))
    rows = [[f"{epoch:g}", f"{score:.4f}"] for epoch, score in scores]
    yield Table(["epoch", f"dev {history.metric}"], rows, text_columns=0)
