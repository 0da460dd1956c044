"""The report of the training study: bases by data sets, over seeds, beside the papers' figures."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from infra.records import Record
from tasks.reports.document import Document, Section, Table
from tasks.reports.text import NONE
from tasks.statistics import Values
from tasks.statistics.intervals import Interval, bootstrap_interval
from tasks.statistics.sampling import Spread
from tasks.studies import published_figures, published_name

METRICS = ("MRR", "NDCG@10", "MMRR")
AS_IT_IS, PAIRS, DEV = "none", "pairs", "dev "
COMMAND = "cosqa study-training"
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
        interval = bootstrap_interval(values[0], level=_LEVEL)
    else:
        spread = Spread(float(means.var(ddof=1)), imagined=None)
        half = spread.half_width(len(means), sys.maxsize, level=_LEVEL)
        interval = Interval(mean, mean - half, mean + half, _LEVEL)
    return StudyFigure(place=place, less=less, name=name, interval=interval, by_seed=tuple(means))


def score_tables(report: TrainingStudyReport) -> list[Table]:
    """Return a table for each set of test queries and metric."""
    found: dict[Place, dict[tuple[str, str], Interval]] = {}
    for each in report.figures:
        found.setdefault(each.place, {})[each.less, each.name] = each.interval
    header = ("base, data", "mean", "95%", "gain", "95%", "dev", "pairs")
    tables = []
    for test, metric in product(dict.fromkeys(place.test for place in found), METRICS):
        rows = [
            (
                _label(place), *_cells(of["", metric]), *_cells(of.get((AS_IT_IS, metric)), "+"),
                next((f"{it.mean:.4f}" for (_, name), it in of.items() if DEV in name), NONE),
                f"{of['', PAIRS].mean:,.0f}" if ("", PAIRS) in of else NONE,
            )
            for place, of in found.items()
            if place.test == test and ("", metric) in of
        ]  # fmt: skip
        if rows:
            tables.append(Table(header, rows, caption=f"{metric}, test queries: {test}"))
    return tables


def _label(place: Place) -> str:
    return ", ".join(place[1:])


def _cells(interval: Interval | None, sign: str = "") -> tuple[str, str]:
    """Return a mean and its interval, dashes where there is none."""
    if interval is None:
        return NONE, NONE
    ends = (f"{end:{sign}.3f}" for end in (interval.low, interval.high))
    return f"{interval.mean:{sign}.4f}", " to ".join(ends)


def difference_table(report: TrainingStudyReport) -> Table:
    """Return what each data set gives more than another on the same test queries."""
    rows = [
        (f"{_label(each.place)} less {each.less}", each.name, *_cells(each.interval, "+"))
        for each in report.figures
        if each.less not in ("", AS_IT_IS)
    ]
    return Table(
        ("base, data sets", "metric", "difference", "95%"), rows, text_columns=2,
        caption="Data sets compared on the same test queries",
    )  # fmt: skip


def published_table(report: TrainingStudyReport) -> Table:
    """Return our figures beside those of the papers, where base and data have their names."""
    rows = []
    for each in report.figures:
        (test, base, trained_on), ours = each.place, each.interval.mean
        model, differs = published_name(base)
        for paper, value, source in _published():
            if each.less == "" and paper == (model, trained_on.lower(), each.name):
                # CoSQA+ trains models that were fine-tuned before, KAPE those that were not.
                note = "" if source.startswith("kape") else differs
                shown = (f"{ours:.4f}", f"{value:.4f}", f"{ours - value:+.4f}", source)
                rows.append((_label(each.place), each.name, *shown, test, note))
    header = ("base, data", "figure", "ours", "published", "difference", "source", "test", "note")
    return Table(header, rows, caption="Beside published figures")


def _published() -> Iterator[tuple[tuple[str, str, str], float, str]]:
    """Yield (model, data set, figure), value and source of CoSQA+'s tables and KAPE's 2 and 8."""
    for each in published_figures():
        if each.command == COMMAND:
            data, _, name = each.column.partition(", ")
            yield (each.row, data.lower().replace("+", "-plus"), name), each.value, each.source


def study_tables(report: TrainingStudyReport) -> list[Table]:
    """Return all tables that have rows."""
    compared = [difference_table(report), published_table(report)]
    return [*score_tables(report), *(table for table in compared if table.rows)]


def training_study_document(report: TrainingStudyReport) -> Document:
    """Return the report as a document."""
    over = (
        "Student's over seeds, how far another seed may lie and not other queries; of what is not "
        "trained"
        if len(report.seeds) > 1
        else "those of one seed,"
    )
    about = (
        f"Seeds: {', '.join(map(str, report.seeds))}. Intervals are {over} by the bootstrap over "
        "queries. A gain is over the base as it is. The dev score is that of the epoch that was "
        "kept; training.json beside an encoder says how it was trained, and what of the test it "
        "saw. The papers tested CoSQA+'s models on 95 Python queries of CodeSearchNet's challenge, "
        "KAPE's on the data sets' own."
    )
    section = Section("scores", "Scores", [*study_tables(report), about])
    return Document(kind="Training study", title="What bases gain by training", sections=[section])
