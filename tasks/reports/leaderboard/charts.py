"""Charts of a leaderboard as coordinates, which the page draws as SVG."""

from collections.abc import Sequence
from itertools import pairwise
from math import log

from infra.records import Record
from tasks.reports._axes import Tick
from tasks.reports.leaderboard.build import RECALL_DEPTHS, Leaderboard
from tasks.reports.text import shortened

WIDTH = 720
_LEFT, _RIGHT, _TOP, _BOTTOM = 190, 24, 12, 34
_ROW, _PLOT = 30, 260
_LONGEST_NAME = 21
_LABEL_GAP = 24


class Whisker(Record):
    """A method's mean with its confidence interval."""

    y: float
    low: float
    mean: float
    high: float
    letter: str
    name: str
    tooltip: str


class Line(Record):
    """A method's recall by depth; ``style`` numbers its colour and dashes."""

    points: str
    label: float
    letter: str
    name: str
    style: int
    tooltip: str


class IntervalChart(Record):
    """Scores with intervals."""

    metric: str
    height: float
    left: float
    right: float
    base: float
    ticks: tuple[Tick, ...]
    whiskers: tuple[Whisker, ...]


class RecallChart(Record):
    """Recall by depth."""

    height: float
    left: float
    right: float
    top: float
    base: float
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    lines: tuple[Line, ...]


def interval_chart(leaderboard: Leaderboard, metric: str) -> IntervalChart:
    """Return the methods' means in a metric with their intervals, the best at the top."""
    height = _TOP + _ROW * len(leaderboard.rows) + _BOTTOM
    highest = max((row.cells[metric].high for row in leaderboard.rows), default=1.0)
    end = next(step for step in (0.1, 0.2, 0.5, 1.0) if step >= min(highest, 1.0))

    def x(value: float) -> float:
        return round(_LEFT + value / end * (WIDTH - _LEFT - _RIGHT), 2)

    whiskers = []
    for place, row in enumerate(leaderboard.rows):
        cell = row.cells[metric]
        whiskers.append(
            Whisker(
                y=_TOP + _ROW * (place + 0.5),
                low=x(cell.low),
                mean=x(cell.mean),
                high=x(cell.high),
                letter=row.letter,
                name=shortened(row.method, _LONGEST_NAME),
                tooltip=f"{row.method}: {cell.mean:.3f}, {cell.low:.3f} to {cell.high:.3f}",
            )
        )
    return IntervalChart(
        metric=metric,
        height=height,
        left=_LEFT,
        right=WIDTH - _RIGHT,
        base=height - _BOTTOM,
        ticks=tuple(Tick(at=x(end * n / 5), text=f"{end * n / 5:g}") for n in range(6)),
        whiskers=tuple(whiskers),
    )


def recall_chart(leaderboard: Leaderboard) -> RecallChart:
    """Return recall by depth, depths on a logarithmic axis."""
    left, right, top, base = 44, WIDTH - 150, _TOP, _TOP + _PLOT

    def x(depth: int) -> float:
        return round(left + log(depth) / log(RECALL_DEPTHS[-1]) * (right - left), 2)

    def y(recall: float) -> float:
        return round(base - recall * _PLOT, 2)

    ends = [y(row.recall[RECALL_DEPTHS[-1]]) for row in leaderboard.rows]
    labels = _apart(ends, gap=min(_LABEL_GAP, _PLOT / len(ends)), lowest=base) if ends else []
    lines = [
        Line(
            points=" ".join(f"{x(depth)},{y(recall)}" for depth, recall in row.recall.items()),
            label=label,
            letter=row.letter,
            name=shortened(row.method, _LONGEST_NAME),
            style=place % 6,
            tooltip=f"{row.method}: "
            + ", ".join(f"{recall:.3f} at {depth}" for depth, recall in row.recall.items()),
        )
        for place, (row, label) in enumerate(zip(leaderboard.rows, labels, strict=True))
    ]
    return RecallChart(
        height=base + _BOTTOM,
        left=left,
        right=right,
        top=top,
        base=base,
        across=tuple(Tick(at=x(depth), text=str(depth)) for depth in RECALL_DEPTHS),
        up=tuple(Tick(at=y(n / 5), text=f"{n / 5:g}") for n in range(6)),
        lines=tuple(lines),
    )


def _apart(places: Sequence[float], gap: float, lowest: float) -> list[float]:
    """Return y coordinates for labels, in the same order, at least ``gap`` apart.

    Labels are moved down, and up again where the last would end below ``lowest``.
    """
    apart = list(places)
    order = sorted(range(len(places)), key=places.__getitem__)
    for upper, lower in pairwise(order):
        apart[lower] = max(apart[lower], apart[upper] + gap)
    if order:
        apart[order[-1]] = min(apart[order[-1]], lowest)
    for lower, upper in pairwise(reversed(order)):
        apart[upper] = min(apart[upper], apart[lower] - gap)
    return apart
