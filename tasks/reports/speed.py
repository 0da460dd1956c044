"""Speed and price of retrieval methods beside their scores: which of them to take."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from infra.records import Record
from tasks.reports.document import Figure, Section, Table, Text
from tasks.reports.figures import Points
from tasks.reports.text import counted

_ABOUT = {  # column → what it holds
    "texts a second": "codes of this benchmark, as all workers encoded them when their vectors "
    "were made, without loading the encoder",
    "MB": "the codes' vectors as a search reads them, 4 bytes a number",
    "US$ for 1,000 texts": "of this benchmark's codes by the price list, of encoders behind an API",
    "queries a second": "ranking alone, when the method was first scored; vectors were stored "
    "before",
}


class Speed(Record):
    """Speed and cost of a method; None is unknown, or does not apply.

    Attributes:
        texts: Texts a second that its encoders embedded.
        megabytes: Size of the codes' vectors.
        usd: US dollars for 1,000 texts.
        queries: Queries a second that it ranked.
        machines: The processors that computed the vectors.
    """

    texts: float | None = None
    megabytes: float | None = None
    usd: float | None = None
    queries: float | None = None
    machines: tuple[str, ...] = ()


class Timed(NamedTuple):
    """A method of a leaderboard, with its score and the same as text."""

    letter: str
    method: str
    score: float
    shown: Text
    speed: Speed


_COLUMNS: dict[str, Callable[[Speed], str]] = {
    "texts a second": lambda speed: _number(speed.texts),
    "MB": lambda speed: _number(speed.megabytes),
    "US$ for 1,000 texts": lambda speed: _number(speed.usd),
    "queries a second": lambda speed: _number(speed.queries),
}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def speed_table(metric: str, rows: Sequence[Timed]) -> Table:
    """Return a row for each method, with the columns of which something is known."""
    columns = {name: [show(row.speed) for row in rows] for name, show in _COLUMNS.items()}
    machines = [", ".join(row.speed.machines) for row in rows]
    if len({*machines} - {""}) > 1:  # else their speeds compare
        columns["encoded by"] = machines
    known = {name: cells for name, cells in columns.items() if any(cells)}
    return Table(
        ("", "method", metric, *known),
        [
            (row.letter, row.method, row.shown, *cells)
            for row, *cells in zip(rows, *known.values(), strict=True)
        ],
        text_columns=2,
        caption=f"{metric}, speed and price",
    )


def speed_section(metric: str, rows: Sequence[Timed]) -> Section:
    """Return the section of a leaderboard's page: a table, and scores over speeds."""
    figures = [
        _figure(metric, "texts encoded a second", [(row, row.speed.texts) for row in rows]),
        _figure(metric, "queries ranked a second", [(row, row.speed.queries) for row in rows]),
    ]
    first, *others = [figure for figure in figures if figure]
    table = speed_table(metric, rows)
    about = " ".join(f"{name}: {_ABOUT[name]}." for name in table.header if name in _ABOUT)
    drawn = [Figure(first.image, first.alt, table), *others]
    return Section("speed", "Which to take", [*drawn, about])


def _figure(metric: str, pace: str, rows: Sequence[tuple[Timed, float | None]]) -> Figure | None:
    """Return scores over a speed, None where none is known."""
    measured = [(row.letter, (speed, row.score)) for row, speed in rows if speed]
    if not measured:
        return None
    marks, places = zip(*measured, strict=True)
    return Figure(
        Points(pace, metric, places, marks),
        f"{metric} of {counted(len(marks), 'methods')} over {pace}",
    )
