"""Histograms as coordinates, which the page draws as SVG."""

import math
from collections.abc import Iterator, Sequence

from infra.records import Record
from tasks.reports.run.data import Histogram

WIDTH, HEIGHT = 720, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 14, 14, 46


class Bar(Record):
    """A bin: its rectangle and its tooltip."""

    x: float
    y: float
    width: float
    height: float
    tooltip: str


class Tick(Record):
    """A mark on an axis: its coordinate and its text; minor ones may be left out."""

    at: float
    text: str
    minor: bool = False


class Chart(Record):
    """A histogram in the coordinates of a drawing of ``WIDTH`` by ``HEIGHT``."""

    name: str
    summary: str
    bars: tuple[Bar, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    base: float = HEIGHT - _BOTTOM


def chart(histogram: Histogram) -> Chart:
    """Return a histogram laid out for drawing."""
    low, high = histogram.edges[0], histogram.edges[-1]
    total, tallest = sum(histogram.counts), max(histogram.counts)
    rises = _round_steps(0, max(tallest, 4), 4)  # whole numbers of pairs

    def x(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (WIDTH - _LEFT - _RIGHT), 2)

    def y(value: float) -> float:
        return round(HEIGHT - _BOTTOM - value / rises[-1] * (HEIGHT - _TOP - _BOTTOM), 2)

    bars = []
    for left, right, number in _bins(histogram):
        box = {"x": x(left) + 0.5, "y": y(number), "width": round(x(right) - x(left) - 1, 2)}
        tooltip = f"{left:.3f} to {right:.3f}: {number:,} pairs"
        bars.append(Bar(**box, height=round(y(0) - y(number), 2), tooltip=tooltip))
    marks = [mark for mark in _round_steps(low, high, 8) if low - 1e-9 <= mark <= high + 1e-9]
    return Chart(
        name=histogram.name,
        summary=f"{total:,} pairs; half of them below {_median(histogram):.2f}",
        bars=tuple(bars),
        across=tuple(
            Tick(at=x(mark), text=f"{mark:.2f}", minor=bool(place % 2))
            for place, mark in enumerate(marks)
        ),
        up=tuple(Tick(at=y(rise), text=f"{rise:,.0f}") for rise in rises),
    )


def _bins(histogram: Histogram) -> Iterator[tuple[float, float, int]]:
    return zip(histogram.edges, histogram.edges[1:], histogram.counts, strict=False)


def _median(histogram: Histogram) -> float:
    half, seen = sum(histogram.counts) / 2, 0
    for left, right, number in _bins(histogram):
        if number and seen + number >= half:
            return left + (right - left) * (half - seen) / number
        seen += number
    return histogram.edges[0]


def _round_steps(low: float, high: float, about: int) -> Sequence[float]:
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 10) for place in range(first, last + 1)]
