"""Charts as SVG: intervals and lines, in the colours of the page.

Each says what it shows to who cannot see it, and each mark has a tooltip. A style is one of
`STYLES`: a colour, with dashes where a line has it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from tasks.reports.text import shortened, visible

STYLES = tuple(f"s{number}" for number in range(11))
FIFTHS = tuple((number / 5, f"{number / 5:g}") for number in range(6))  # of an axis up to 1
_LONGEST_NAME = 21
_LONGEST = 400  # characters of a tooltip
_LABEL_GAP = 24
_SPAN_GAP = 18

Points = Sequence[tuple[float, float]]
Ticks = Sequence[tuple[float, str]]  # where on the axis, and what is written there


@dataclass(frozen=True)
class Mark:
    """A value, with its interval where it has one."""

    value: float
    tooltip: str
    low: float | None = None
    high: float | None = None
    style: str = STYLES[1]


@dataclass(frozen=True)
class Row:
    """What is known of one name; a letter may stand for it elsewhere."""

    name: str
    marks: Sequence[Mark]
    letter: str = ""


@dataclass(frozen=True)
class Line:
    """A line.

    Attributes:
        points: Where it runs.
        tooltip: Its name and figures.
        style: One of `STYLES`.
        name: Written at its end.
        letter: Written before the name.
    """

    points: Points
    tooltip: str
    style: str = STYLES[1]
    name: str = ""
    letter: str = ""


@dataclass(frozen=True)
class _Frame:
    """The part of a drawing that has the marks, and the numbers that its edges stand for."""

    width: float
    height: float
    across: tuple[float, float]
    up: tuple[float, float] = (0, 1)
    left: float = 64
    right: float = 24
    top: float = 12
    bottom: float = 34

    @property
    def base(self) -> float:
        return self.height - self.bottom

    def x(self, value: float) -> float:
        inside = self.width - self.left - self.right
        return round(self.left + _share(value, *self.across) * inside, 2)

    def y(self, value: float) -> float:
        return round(self.base - _share(value, *self.up) * (self.base - self.top), 2)

    def drawn(self, alt: str, marks: Sequence[Markup], across: Ticks, up: Ticks = ()) -> Markup:
        """Return the drawing: a grid, the marks, and the axis beneath."""
        begin, end = self.left, self.width - self.right
        parts = []
        for value, text in up:
            y = self.y(value)
            parts.append(_tag("line", class_="grid", x1=begin, x2=end, y1=y, y2=y))
            parts.append(_tag("text", text, class_="up", x=begin - 8, y=y, dy="0.35em"))
        for place, (value, text) in enumerate(across):
            x, minor = self.x(value), " minor" if place % 2 else ""
            if not up:
                parts.append(_tag("line", class_="grid", x1=x, x2=x, y1=self.top, y2=self.base))
            written = {"class_": f"across{minor}", "x": x, "y": self.base + 8, "dy": "0.9em"}
            parts.append(_tag("text", text, **written))
        axis = _tag("line", class_="axis", x1=begin, x2=end, y1=self.base, y2=self.base)
        box = f"0 0 {self.width:g} {self.height:g}"
        return _tag(
            "svg", *parts, *marks, axis, viewBox=box, role="img", aria_label=visible(alt, _LONGEST)
        )


def intervals(alt: str, rows: Sequence[Row], *, start: float | None = 0) -> Markup:
    """Return a line for each row with its values and their intervals.

    Args:
        alt: What is shown, in words.
        rows: The rows, the first at the top.
        start: Where the axis begins; None where it begins before the least value.
    """
    ends = [
        end for row in rows for mark in row.marks for end in (mark.value, mark.low, mark.high)
        if end is not None
    ] or [0.0, 1.0]  # fmt: skip
    ticks = steps(min(ends) - 0.02 if start is None else start, max(ends), 6)
    most = max((len(row.marks) for row in rows), default=1)
    height = 30 + 11 * (most - 1)
    frame = _Frame(720, 46 + height * len(rows), across=(ticks[0], ticks[-1]), left=190)
    marks = []
    for place, row in enumerate(rows):
        y = frame.top + height * (place + 0.5)
        at = {"class_": "up name", "x": frame.left - 10, "y": y, "dy": "0.35em"}
        marks.append(_tag("text", *_named(row.letter, row.name), **at))
        spans = [mark for mark in row.marks if mark.low is not None]
        for number, mark in enumerate(row.marks):
            apart = _SPAN_GAP * (number - (len(spans) - 1) / 2) if mark in spans else 0
            marks.append(_mark(frame, mark, round(y + apart, 2)))
    return frame.drawn(alt, marks, [(tick, f"{tick:g}") for tick in ticks])


def lines(
    alt: str,
    shown: Sequence[Line],
    across: Ticks,
    up: Ticks = (),
    *,
    highest: float = 1,
    width: float = 720,
) -> Markup:
    """Return lines over one axis; what lies outside it is drawn at its edge.

    Args:
        alt: What is shown, in words.
        shown: The lines, the first one undermost.
        across: The marks of the axis beneath, whose first and last are its ends.
        up: The marks of the upright axis.
        highest: Where that ends; it begins at 0.
        width: The drawing's; text is as high in a narrow one.
    """
    right = 150 if any(line.name for line in shown) else 24
    frame = _Frame(
        width, 280, across=(across[0][0], across[-1][0]), up=(0, highest), left=44, right=right
    )
    ends = [frame.y(line.points[-1][1]) for line in shown]
    labels = apart(ends, min(_LABEL_GAP, (frame.base - frame.top) / max(1, len(ends))), frame.base)
    marks = []
    for line, label in zip(shown, labels, strict=True):
        parts = [_tag("title", line.tooltip)]
        parts.append(_tag("polyline", class_="curve", points=_points(frame, line.points)))
        if len(line.points) == 1:
            (x, y), *_ = line.points
            parts.append(_tag("circle", class_="dot", cx=frame.x(x), cy=frame.y(y), r=4.5))
        if line.name:
            at = {"x": width - right + 8, "y": round(label, 2), "dy": "0.35em"}
            parts.append(_tag("text", *_named(line.letter, line.name), **at))
        marks.append(_tag("g", *parts, class_=line.style))
    return frame.drawn(alt, marks, across, up)


def steps(low: float, high: float, about: int) -> list[float]:
    """Return round numbers at one distance, the first not above and the last not below a range."""
    rough = max(high - low, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 10) for place in range(first, max(last, first + 1) + 1)]


def apart(places: Sequence[float], gap: float, lowest: float) -> list[float]:
    """Return y coordinates for labels, in the same order, at least ``gap`` apart.

    Labels are moved down, and up again where the last would end below ``lowest``.
    """
    found = list(places)
    order = sorted(range(len(places)), key=places.__getitem__)
    for upper, lower in pairwise(order):
        found[lower] = max(found[lower], found[upper] + gap)
    if order:
        found[order[-1]] = min(found[order[-1]], lowest)
    for lower, upper in pairwise(reversed(order)):
        found[upper] = min(found[upper], found[lower] - gap)
    return found


def _mark(frame: _Frame, mark: Mark, y: float) -> Markup:
    parts, x = [_tag("title", mark.tooltip)], frame.x(mark.value)
    if mark.low is None or mark.high is None:
        parts.append(_tag("circle", class_="ring", cx=x, cy=y, r=6))
    else:
        ends = {"x1": frame.x(mark.low), "x2": frame.x(mark.high), "y1": y, "y2": y}
        parts.append(_tag("line", class_="span", **ends))
        parts.append(_tag("circle", class_="dot", cx=x, cy=y, r=4.5))
    return _tag("g", *parts, class_=mark.style)


def _named(letter: str, name: str) -> list[Markup]:
    short = shortened(name, _LONGEST_NAME)
    return [_tag("tspan", f"{letter} ", class_="letter"), _tag("tspan", short, class_="rest")]


def _points(frame: _Frame, points: Points) -> str:
    return " ".join(f"{frame.x(x)},{frame.y(y)}" for x, y in points)


def _share(value: float, low: float, high: float) -> float:
    return (min(max(value, low), high) - low) / (high - low)


def _tag(name: str, *inside: str, **attributes: object) -> Markup:
    """Return an element; text and values are escaped, names are ours."""
    texts = [each if isinstance(each, Markup) else visible(each, _LONGEST) for each in inside]
    given = [
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
    ]
    return Markup("<{0}{1}>{2}</{0}>").format(name, Markup().join(given), Markup().join(texts))
