"""The reports of trainings: of one its figures, recipe and epochs; of several their figures."""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from infra.records import Record
from tasks.reports.document import Block, Document, Figure, KeyValues, Paragraph, Section, Table
from tasks.reports.figures import Points
from tasks.reports.study import Line, lines_table
from tasks.reports.text import NONE, format_count, format_duration
from tasks.statistics import Values
from tasks.statistics.intervals import Interval, bootstrap_interval
from tasks.statistics.sampling import Spread
from tasks.studies import paper_data
from tasks.training.encoder import Description
from tasks.training.recipes import History

METRICS = ("MRR", "NDCG@10", "MMRR")
GAINED = ("NDCG@10", "MRR", "Recall@10")
AS_IT_IS, PAIRS, DEV = "none", "pairs", "dev "
_LEVEL = 0.95
_GAIN = "“less none”: gain over the base as it is."


class Place(NamedTuple):
    """Key of a figure: test queries, base or other method, and training data."""

    test: str
    base: str
    data: str = AS_IT_IS


class TrainingFigure(Record):
    """A figure of all seeds.

    Attributes:
        place: Where it stands.
        less: In a difference what is taken off: another data set, ``none`` for the base as it is,
            or another method; else empty.
        name: A metric of the test queries, ``dev`` and one of the dev queries, or ``pairs``.
        interval: The mean over seeds, with its interval.
        by_seed: The mean over queries, of each seed.
    """

    place: Place
    less: str
    name: str
    interval: Interval
    by_seed: tuple[float, ...]


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
        gains: Its scores and other methods' on the test queries, and its differences from these;
            none before it was tested.
    """

    name: str
    description: Description
    pairs: int
    dropped: int
    dev_queries: int
    history: History
    tested: str
    gains: tuple[TrainingFigure, ...] = ()

    def place(self, test: str) -> Place:
        """Return the key of its figures on test queries of a name."""
        description = self.description
        return Place(test, description.base.get("name", description.kind), description.data)


class TrainingStudyReport(Record):
    """The report of several trainings: seeds, and figures in the order of what was tested."""

    seeds: tuple[int, ...]
    figures: tuple[TrainingFigure, ...]


def training_figures(
    tested: Sequence[tuple[Place, Mapping[str, Values]]], *, of_one: bool = False
) -> tuple[TrainingFigure, ...]:
    """Return all figures, with the differences of what was trained to what stands before.

    That is of the same test queries and the same base, or of one training of any base.

    Args:
        tested: Of each encoder its place and figure → (queries,) values, in one order for all of
            the same test; what is none of the queries' is one value.
        of_one: Whether there is one training, beside other methods.
    """
    placed: dict[Place, list[Mapping[str, Values]]] = {}
    for place, values in tested:
        placed.setdefault(place, []).append(values)
    met: dict[Place, dict[str, Values]] = {}
    figures = []
    for place, several in placed.items():
        own = {name: np.array([values[name] for values in several]) for name in several[0]}
        compared = [
            (other.data if other.base == place.base else other.base, met[other])
            for other in met
            if place.data != AS_IT_IS and other.test == place.test
            if of_one or other.base == place.base
        ]
        figures += [
            _figure(place, less, name, values - others.get(name, 0.0))
            for less, others in [("", {}), *compared]
            for name, values in own.items()
            if not less or (name != PAIRS and not name.startswith(DEV))
        ]
        met[place] = own
    return tuple(figures)


def _figure(place: Place, less: str, name: str, values: Values) -> TrainingFigure:
    """Return a figure of (seeds, queries) values: of one seed with the bootstrap over queries."""
    means, mean = values.mean(axis=1), float(values.mean())
    if len(means) == 1:
        interval = bootstrap_interval(values[0], ends=(-1.0 if less else 0.0, 1.0), level=_LEVEL)
    else:
        spread = Spread(float(means.var(ddof=1)), imagined=None)
        half = spread.half_width(len(means), sys.maxsize, level=_LEVEL)
        interval = Interval(mean, mean - half, mean + half, _LEVEL)
    by_seed = tuple(means)
    return TrainingFigure(place=place, less=less, name=name, interval=interval, by_seed=by_seed)


def figure_tables(figures: Sequence[TrainingFigure]) -> list[Table]:
    """Return a table for each set of test queries and name of a figure.

    A figure stands beside each published one, or alone, where no paper prints it.
    """
    lines: dict[str, list[Line]] = {}
    for figure in figures:
        (test, base, data), found = figure.place, figure.interval
        is_count = figure.name == PAIRS
        line = Line(
            row=f"{base}, {data} less {figure.less}" if figure.less else f"{base}, {data}",
            column=figure.name,
            ours=round(found.mean) if is_count else found.mean,
            interval=found if found.low < found.high and not is_count else None,
            n=len(figure.by_seed) if figure.by_seed[1:] else None,
            digits=0 if is_count else 4,
        )
        beside: list[Line] = []
        if not figure.less:
            model, differs = paper_data().name_of(base)
            # CoSQA+ trains models that were fine-tuned before, KAPE those that were not.
            beside = [
                line.next_to(other, "" if other.paper == "kape" else differs)
                for other in paper_data().figures
                if other.study == "training"
                and other.row == model
                and other.column.lower().replace("+", "-plus") == f"{data}, {figure.name}".lower()
            ]
        caption = f"{figure.name}, test queries: {test}"
        lines.setdefault(caption, []).extend(beside or [line])
    return [lines_table(each, caption) for caption, each in lines.items()]


def epochs_table(history: History) -> Table:
    """Return the dev score before the first step, and loss and dev score after each epoch."""
    rows = [("0", NONE, f"{history.before:.4f}")]
    for epoch, score in history.scores:
        last_step = history.steps * epoch / history.scores[-1][0]
        losses = [loss for step, loss in history.losses if step <= last_step]
        rows.append((f"{epoch:g}", f"{losses[-1]:.4f}" if losses else NONE, f"{score:.4f}"))
    return Table(("epoch", "loss", f"dev {history.metric}"), rows, text_columns=0)


def epoch_figures(history: History) -> list[Figure]:
    """Return loss and dev score over epochs, above their table."""
    last = history.scores[-1][0] if history.scores else 1
    losses = tuple((step * last / max(history.steps, 1), loss) for step, loss in history.losses)
    scores = ((0.0, history.before), *history.scores)
    of, best = f"dev {history.metric}", max(score for _, score in scores)
    told = f"{of} by epoch, from {history.before:.4f}, at best {best:.4f}"
    drawn = Figure(Points("epoch", of, scores), told, epochs_table(history))
    if not losses:
        return [drawn]
    of_loss = f"loss by epoch, from {losses[0][1]:.4f} to {losses[-1][1]:.4f}"
    return [Figure(Points("epoch", "loss", losses), of_loss), drawn]


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
    about = (
        f"Differences are of the same queries, with intervals by the bootstrap. {_GAIN} The "
        f"weights are those of epoch {history.best_epoch:g}, the best by {history.metric} of "
        f"{format_count(report.dev_queries)} dev queries; none was a test query."
    )
    tables: list[Block] = [*figure_tables(report.gains)] or ["It was not tested."]
    return Document(
        kind="Training",
        title=f"Training: {report.name}",
        lead=[
            Paragraph(f"{recipe.name} on {description.data}: {format_count(report.pairs)} pairs")
        ],
        sections=[
            Section("gain", "On test queries", [*tables, about]),
            Section("epochs", "Loss and dev score by epoch", epoch_figures(history)),
            Section("by", "Recipe, base and data", [KeyValues(origin)]),
        ],
    )


def training_study_document(report: TrainingStudyReport) -> Document:
    """Return the report as a document."""
    intervals = (
        "Student's over seeds (n): how far another seed may lie, not other queries; of what is not "
        "trained by the bootstrap over queries"
        if len(report.seeds) > 1
        else "those of one seed, by the bootstrap over queries"
    )
    about = (
        f"Seeds: {', '.join(map(str, report.seeds))}. Intervals are {intervals}. {_GAIN} The dev "
        "score is that of the epoch whose weights were taken; training.json of an encoder says how "
        "it was trained. The papers tested CoSQA+'s models on 95 Python queries of CodeSearchNet's "
        "challenge, KAPE's on the data sets' own."
    )
    section = Section("scores", "Scores", [*figure_tables(report.figures), about])
    return Document(kind="Study", title="What bases gain by training", sections=[section])
