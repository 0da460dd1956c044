"""The report of the training study: bases by data sets, over seeds, next to published figures."""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from infra.records import Record
from tasks.reports.document import Document, Section, Table
from tasks.reports.study import Line, lines_table
from tasks.statistics import Values
from tasks.statistics.intervals import Interval, bootstrap_interval
from tasks.statistics.sampling import Spread
from tasks.studies import published

METRICS = ("MRR", "NDCG@10", "MMRR")
AS_IT_IS, PAIRS, DEV = "none", "pairs", "dev "
_LEVEL = 0.95


class Place(NamedTuple):
    """Where a figure stands: test queries, base or other method, and what it was trained on."""

    test: str
    base: str
    data: str = AS_IT_IS


class StudyFigure(Record):
    """A figure of all seeds.

    Attributes:
        place: Where it stands.
        less: In a difference, the other data set, or ``none``; else empty.
        name: A metric of the test queries, ``dev`` and one of the dev queries, or ``pairs``.
        interval: The mean over seeds, with its interval.
        by_seed: The mean over queries, of each seed.
    """

    place: Place
    less: str
    name: str
    interval: Interval
    by_seed: tuple[float, ...]


class TrainingStudyReport(Record):
    """The report: its seeds, and all figures in the order of what was tested."""

    seeds: tuple[int, ...]
    figures: tuple[StudyFigure, ...]


def study_figures(
    tested: Sequence[tuple[Place, Mapping[str, Values]]],
) -> tuple[StudyFigure, ...]:
    """Return all figures, with the differences to what stands before with the same base and test.

    Args:
        tested: Of each encoder its place and figure → (queries,) values, in one order for all of
            the same test; what is none of the queries' is one value.
    """
    placed: dict[Place, list[Mapping[str, Values]]] = {}
    for place, values in tested:
        placed.setdefault(place, []).append(values)
    met: dict[Place, dict[str, Values]] = {}
    figures = []
    for place, several in placed.items():
        own = {name: np.array([values[name] for values in several]) for name in several[0]}
        same = ((other.data, met[other]) for other in met if other[:2] == place[:2])
        figures += [
            _figure(place, less, name, values - others.get(name, 0.0))
            for less, others in [("", {}), *same]
            for name, values in own.items()
            if not less or name in METRICS
        ]
        met[place] = own
    return tuple(figures)


def _figure(place: Place, less: str, name: str, values: Values) -> StudyFigure:
    """Return a figure of (seeds, queries) values: of one seed with the bootstrap over queries."""
    means, mean = values.mean(axis=1), float(values.mean())
    if len(means) == 1:
        interval = bootstrap_interval(values[0], ends=(-1.0 if less else 0.0, 1.0), level=_LEVEL)
    else:
        spread = Spread(float(means.var(ddof=1)), imagined=None)
        half = spread.half_width(len(means), sys.maxsize, level=_LEVEL)
        interval = Interval(mean, mean - half, mean + half, _LEVEL)
    return StudyFigure(place=place, less=less, name=name, interval=interval, by_seed=tuple(means))


def study_tables(report: TrainingStudyReport) -> list[Table]:
    """Return a table for each set of test queries and name of a figure."""
    lines: dict[str, list[Line]] = {}
    for figure in report.figures:
        caption = f"{figure.name}, test queries: {figure.place.test}"
        lines.setdefault(caption, []).extend(_lines(figure))
    return [lines_table(found, caption) for caption, found in lines.items()]


def _lines(figure: StudyFigure) -> list[Line]:
    """Return the figure with each published one, or alone, where no paper prints it."""
    (_, base, data), found = figure.place, figure.interval
    is_count = figure.name == PAIRS
    line = Line(
        row=f"{base}, {data} less {figure.less}" if figure.less else f"{base}, {data}",
        column=figure.name,
        ours=round(found.mean) if is_count else found.mean,
        interval=(found.low, found.high) if found.low < found.high and not is_count else None,
        n=len(figure.by_seed),
        digits=0 if is_count else 4,
    )
    if figure.less:
        return [line]
    model, differs = published().name_of(base)
    # CoSQA+ trains models that were fine-tuned before, KAPE those that were not.
    beside = [
        line.next_to(other, "" if other.paper == "kape" else differs)
        for other in published().figures
        if other.study == "training"
        and other.row == model
        and other.column.lower().replace("+", "-plus") == f"{data}, {figure.name}".lower()
    ]
    return beside or [line]


def training_study_document(report: TrainingStudyReport) -> Document:
    """Return the report as a document."""
    intervals = (
        "Student's over seeds (n): how far another seed may lie, not other queries; of what is not "
        "trained by the bootstrap over queries"
        if len(report.seeds) > 1
        else "those of one seed, by the bootstrap over queries"
    )
    about = (
        f"Seeds: {', '.join(map(str, report.seeds))}. Intervals are {intervals}. “less none”: gain "
        "over the base as it is. The dev score is that of the epoch whose weights were taken; "
        "training.json of an encoder says how it was trained. The papers tested CoSQA+'s models on "
        "95 Python queries of CodeSearchNet's challenge, KAPE's on the data sets' own."
    )
    section = Section("scores", "Scores", [*study_tables(report), about])
    return Document(kind="Study", title="What bases gain by training", sections=[section])
