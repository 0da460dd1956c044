"""Charts of an estimate as coordinates, which the page draws as SVG."""

from collections.abc import Callable, Sequence
from math import floor

from infra.records import Record
from tasks.estimation.records import MethodEstimate, Score
from tasks.reports._axes import Tick
from tasks.reports.text import shortened
from tasks.statistics.intervals import Interval

WIDTH = 720
_LEFT, _RIGHT, _TOP, _BOTTOM = 170, 24, 12, 34
_ROW, _PLOT = 52, 180
_LONGEST_NAME = 20
_APART = 9  # of the two intervals of a method


class Span(Record):
    """An interval with its mean."""

    low: float
    mean: float
    high: float
    y: float
    tooltip: str


class Row(Record):
    """A method: its estimate without labels, and its intervals by judged queries."""

    y: float
    name: str
    kape: float | None
    tooltip: str
    sample: Span | None
    combined: Span | None


class IntervalChart(Record):
    """All methods' estimates of one measure."""

    measure: str
    height: float
    left: float
    right: float
    base: float
    ticks: tuple[Tick, ...]
    rows: tuple[Row, ...]


class Curve(Record):
    """A density: its points, and its median with its text."""

    points: str
    median: float
    tooltip: str


class DensityChart(Record):
    """Similarities to the nearest training query."""

    method: str
    height: float
    left: float
    right: float
    top: float
    base: float
    ticks: tuple[Tick, ...]
    queries: Curve
    training: Curve | None


def interval_chart(estimates: Sequence[MethodEstimate], measure: str) -> IntervalChart:
    """Return the methods' estimates of a measure, in the order given."""
    scores = [estimate.scores[measure] for estimate in estimates]
    values = [value for score in scores for value in _values(score)] or [0.0, 1.0]
    start = max(0.0, floor((min(values) - 0.02) * 10) / 10)
    end = min(1.0, -floor(-(max(values) + 0.02) * 10) / 10)
    end = max(end, start + 0.1)

    def x(value: float) -> float:
        return round(_LEFT + (value - start) / (end - start) * (WIDTH - _LEFT - _RIGHT), 2)

    height = _TOP + _ROW * len(estimates) + _BOTTOM
    steps = max(1, round((end - start) / 0.1))
    rows = []
    for place, (estimate, score) in enumerate(zip(estimates, scores, strict=True)):
        y = _TOP + _ROW * (place + 0.5)
        rows.append(
            Row(
                y=y,
                name=shortened(estimate.method, _LONGEST_NAME),
                kape=None if score.kape is None else x(score.kape),
                tooltip="" if score.kape is None else f"without labels: {score.kape:.3f}",
                sample=_span(score.sample, x, y + _APART, "judged alone"),
                combined=_span(score.combined, x, y - _APART, "judged and estimated"),
            )
        )
    marks = [start + (end - start) * step / steps for step in range(steps + 1)]
    return IntervalChart(
        measure=measure,
        height=height,
        left=_LEFT,
        right=WIDTH - _RIGHT,
        base=height - _BOTTOM,
        ticks=tuple(Tick(at=x(mark), text=f"{mark:.1f}") for mark in marks),
        rows=tuple(rows),
    )


def _values(score: Score) -> list[float]:
    spans = [span for span in (score.sample, score.combined) if span]
    ends = [end for span in spans for end in (span.low, span.high)]
    return ends if score.kape is None else [score.kape, *ends]


def _span(
    interval: Interval | None, x: Callable[[float], float], y: float, what: str
) -> Span | None:
    if interval is None:
        return None
    return Span(
        low=x(interval.low),
        mean=x(interval.mean),
        high=x(interval.high),
        y=y,
        tooltip=f"{what}: {interval.mean:.3f}, {interval.low:.3f} to {interval.high:.3f}",
    )


def density_chart(estimate: MethodEstimate) -> DensityChart:
    """Return both densities of the similarity to the nearest training query."""
    near = estimate.similarities
    start, end = near.grid[0], near.grid[-1]
    groups = [near.queries] if near.training is None else [near.queries, near.training]
    highest = max(max(group.curve) for group in groups) or 1.0
    left, right, base = 20, WIDTH - _RIGHT, _TOP + _PLOT

    def x(value: float) -> float:
        inside = min(max(value, start), end)
        return round(left + (inside - start) / (end - start) * (right - left), 2)

    curves = [
        Curve(
            points=" ".join(
                f"{x(at)},{round(base - value / highest * _PLOT, 2)}"
                for at, value in zip(near.grid, group.curve, strict=True)
            ),
            median=x(group.quantiles["0.5"]),
            tooltip=f"{group.size:,} {name}: median {group.quantiles['0.5']:.2f}, 90% from "
            f"{group.quantiles['0.05']:.2f} to {group.quantiles['0.95']:.2f}",
        )
        for group, name in zip(groups, ("queries", "training queries"), strict=False)
    ]
    tenths = range(floor(start * 10 + 0.999), 11)
    return DensityChart(
        method=estimate.method,
        height=base + _BOTTOM,
        left=left,
        right=right,
        top=_TOP,
        base=base,
        ticks=tuple(Tick(at=x(tenth / 10), text=f"{tenth / 10:.1f}") for tenth in tenths),
        queries=curves[0],
        training=curves[1] if len(curves) > 1 else None,
    )
