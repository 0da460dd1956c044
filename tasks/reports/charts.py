"""Charts as SVG: intervals of several methods, and one curve, in the colours of the page.

Each says what it shows to who cannot see it, and each mark has a tooltip.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tasks.reports.text import shortened, visible

_LONGEST_NAME = 21
_LONGEST = 400  # characters of a tooltip
_ROW = 30  # height

Points = Sequence[tuple[float, float]]
Ticks = Sequence[tuple[float, str]]  # where on the axis, and what is written there


@dataclass(frozen=True)
class Row:
    """A value with its interval.

    Attributes:
        name: Whose it is.
        letter: What stands for the name elsewhere.
        tooltip: Name and figures.
    """

    name: str
    value: float
    low: float
    high: float
    tooltip: str
    letter: str = ""


@dataclass(frozen=True)
class _Frame:
    """The part of a drawing that has the marks, and the numbers that its edges stand for."""

    height: float
    left: float
    across: tuple[float, float]
    up: tuple[float, float] = (0, 1)
    width: float = 720
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


def intervals(alt: str, rows: Sequence[Row]) -> Markup:
    """Return a line for each row with its value and its interval, over an axis that begins at 0.

    Args:
        alt: What is shown, in words.
        rows: The rows, the first at the top.
    """
    ticks = _steps(max((row.high for row in rows), default=1.0), 6)
    frame = _Frame(46 + _ROW * len(rows), left=190, across=(ticks[0], ticks[-1]))
    marks = []
    for place, row in enumerate(rows):
        y = frame.top + _ROW * (place + 0.5)
        letter = _tag("tspan", f"{row.letter} ", class_="letter")
        name = _tag("tspan", shortened(row.name, _LONGEST_NAME), class_="rest")
        at = {"class_": "up name", "x": frame.left - 10, "y": y, "dy": "0.35em"}
        ends = {"x1": frame.x(row.low), "x2": frame.x(row.high), "y1": y, "y2": y}
        span = _tag("line", class_="span", **ends)
        dot = _tag("circle", class_="dot", cx=frame.x(row.value), cy=y, r=4.5)
        marks.append(_tag("text", letter, name, **at))
        marks.append(_tag("g", _tag("title", row.tooltip), span, dot))
    return frame.drawn(alt, marks, [(tick, f"{tick:g}") for tick in ticks])


def curve(alt: str, points: Points, tooltip: str) -> Markup:
    """Return a line over axes that begin at 0.

    Args:
        alt: What is shown, in words.
        points: Where the line runs, one point at least.
        tooltip: Its name.
    """
    across = _steps(max(x for x, _ in points), 6)
    up = _steps(max(y for _, y in points), 4)
    frame = _Frame(280, left=44, across=(across[0], across[-1]), up=(up[0], up[-1]))
    places = " ".join(f"{frame.x(x)},{frame.y(y)}" for x, y in points)
    line = _tag("polyline", class_="curve", points=places)
    dots = [_tag("circle", class_="dot", cx=frame.x(x), cy=frame.y(y), r=3) for x, y in points]
    mark = _tag("g", _tag("title", tooltip), line, *(dots if len(points) == 1 else ()))
    ticks = ([(tick, f"{tick:g}") for tick in axis] for axis in (across, up))
    return frame.drawn(alt, [mark], *ticks)


def _steps(highest: float, about: int) -> list[float]:
    """Return round numbers at one distance, from 0 to one that is not below the highest."""
    rough = max(highest, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    last = math.ceil(highest / step - 1e-9)
    return [round(step * place, 10) for place in range(max(last, 1) + 1)]


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
