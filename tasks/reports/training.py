"""The report of a training: recipe, loss and dev score by epoch, gain on test queries."""

from collections.abc import Sequence
from math import nan

import numpy as np

from infra.records import Record
from tasks.reports.document import Document, KeyValues, Paragraph, Section, Table
from tasks.reports.leaderboard import MethodScores
from tasks.reports.text import NONE, format_count, format_duration
from tasks.statistics.intervals import Interval, bootstrap_interval
from tasks.training.encoder import Description
from tasks.training.job import History

GAINED = ("NDCG@10", "MRR", "Recall@10")


class Gain(Record):
    """The encoder's advantage over another method on the same queries.

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
    rows = []
    for gain in report.gains:
        difference, ends = "", ""
        if gain.difference:
            difference = f"{gain.difference.mean:+.4f}"
            ends = f"{gain.difference.low:+.4f} to {gain.difference.high:+.4f}"
        means = (f"{gain.before:.4f}", f"{gain.after:.4f}")
        rows.append((gain.method, gain.metric, *means, difference, ends))
    header = ("method", "metric", "its mean", report.name, "difference", "95% interval")
    return Table(header, rows, text_columns=2, empty="It was not tested.")


def epochs_table(history: History) -> Table:
    """Return the dev score before the first step, and loss and dev score after each epoch."""
    rows = [("0", NONE, f"{history.before:.4f}")]
    for epoch, score in history.scores:
        last_step = history.steps * epoch / history.scores[-1][0]
        losses = [loss for step, loss in history.losses if step <= last_step]
        rows.append((f"{epoch:g}", f"{losses[-1]:.4f}" if losses else NONE, f"{score:.4f}"))
    return Table(("epoch", "loss", f"dev {history.metric}"), rows, text_columns=0)


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
    about_gains = (
        "Differences are of the same queries, with intervals by the bootstrap over queries. The "
        f"weights are those of epoch {history.best_epoch:g}, the best by {history.metric} of "
        f"{format_count(report.dev_queries)} dev queries; none was a test query."
    )
    return Document(
        kind="Training",
        title=f"Training: {report.name}",
        lead=[
            Paragraph(f"{recipe.name} on {description.data}: {format_count(report.pairs)} pairs")
        ],
        sections=[
            Section("gain", "On test queries", [gains_table(report), about_gains]),
            Section("epochs", "Loss and dev score by epoch", [epochs_table(history)]),
            Section("by", "Recipe, base and data", [KeyValues(origin)]),
        ],
    )
