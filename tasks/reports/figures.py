"""Drawings of reports by matplotlib: SVG with the colours and the font of the page it stands in.

A drawing is data. Its text stays text and is legible at the width of a phone; names come from
outside, so that each is bounded and none is read as a formula or as markup.
"""

import io
import math
import re
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree import ElementTree as ET

import numpy as np

from tasks.reports.document import Figure, Table
from tasks.reports.text import format_share, format_words, visible
from tasks.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _INCH = 374, 72  # units of a drawing: pixels of a phone
_LONGEST, _MOST, _FARTHEST = 48, 40, 1e12  # characters of a name, rows, values
# matplotlib wants colours that it can read; a page puts its own in their place.
_COLOURS = {
    "#000001": "ink", "#000002": "soft", "#000003": "rule", "#000004": "accent",
    "#000011": "c1", "#000012": "c2", "#000013": "c3", "#000014": "c4", "#000015": "c5",
    "#000016": "c6",
}  # fmt: skip
_INK, _SOFT, _RULE, _ACCENT, *_SERIES = _COLOURS
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "cosqa", "text.parse_math": False, "font.size": 12,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "axes.edgecolor": _SOFT, "axes.labelcolor": _SOFT, "xtick.color": _SOFT, "ytick.color": _SOFT,
    "text.color": _INK, "grid.color": _RULE, "axes.axisbelow": True, "axes.unicode_minus": True,
    "ytick.left": False, "figure.facecolor": "none", "axes.facecolor": "none",
    "figure.constrained_layout.use": True,
}  # fmt: skip
_KEPT = re.compile(
    r"fill(-opacity)?|stroke(-width|-dasharray)?|opacity|font-(size|weight)|text-anchor"
)
_TURN = threading.Lock()  # matplotlib's settings are the process's


@dataclass(frozen=True)
class Drawing(ABC):
    """A drawing.

    Attributes:
        title: Of its level scale.
    """

    title: str
    _height: ClassVar[float] = 210  # in pixels of a phone

    def svg(self) -> str:
        """Return it as an element of HTML."""
        return _svg(self.title, self._height, self._draw)

    @abstractmethod
    def _draw(self, axes: "Axes") -> None:
        """Draw it."""


@lru_cache(maxsize=64)
def _svg(title: str, height: float, draw: Callable[["Axes"], None]) -> str:
    import matplotlib as mpl  # noqa: PLC0415 - takes half a second, and most commands draw nothing
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 - the same

    written = io.BytesIO()
    with _TURN, mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that its font lacks, which the page's may have
        mpl.rcdefaults()  # whatever a file of the user's says
        mpl.rcParams.update(_STYLE)
        canvas = Canvas(figsize=(_WIDTH / _INCH, height / _INCH))
        axes = canvas.add_subplot()
        axes.set_xlabel(_name(title))
        draw(axes)
        canvas.savefig(written, format="svg", metadata={"Date": None}, transparent=True)
    # An element of a page has no styles, which the page's policy forbids.
    svg = ET.fromstring(written.getvalue())  # noqa: S314 - matplotlib's own
    for parent in [*svg.iter()]:
        for child in [*parent]:
            if child.tag.endswith(("}metadata", "}style", "}clipPath")):
                parent.remove(child)
    for element in svg.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = dict(_attributes(element))
    svg.attrib = {"viewBox": svg.attrib["viewBox"], "aria-hidden": "true"}
    return ET.tostring(svg, "unicode", short_empty_elements=False)


def _attributes(element: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield an element's attributes; those of its style stand by themselves."""
    for name, value in element.attrib.items():
        if name.endswith("}href"):
            yield "href", value
        elif name not in ("style", "clip-path") and (name != "id" or element.tag != "g"):
            yield name, value
    for declared in element.attrib.get("style", "").split(";"):
        name, _, value = (part.strip() for part in declared.partition(":"))
        if _KEPT.fullmatch(name):
            yield name, f"var(--{_COLOURS[value]})" if value in _COLOURS else value


def _name(text: str) -> str:
    """Return a name on one line, its middle left out where it is long."""
    line = visible(" ".join(text.split()), 10_000)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 16]} … {line[-13:]}"


def _bounded(value: float) -> float:
    """Return a value, or none where no scale would reach it."""
    return value if abs(value) < _FARTHEST else math.nan


@dataclass(frozen=True)
class Dot:
    """A value by name, with its interval where it has one."""

    name: str
    value: float
    interval: Interval | None = None
    digits: int = 3

    def __str__(self) -> str:
        """Return the value with its interval."""
        value = f"{self.value:.{self.digits}f}"
        if self.interval is None:
            return value
        low, high = self.interval.low, self.interval.high
        return f"{value} [{low:.{self.digits}f}, {high:.{self.digits}f}]"


@dataclass(frozen=True)
class Dots(Drawing):
    """Values on one scale, a row each: the name and the value, and beneath them dot and interval.

    Attributes:
        dots: The values, from above.
        ends: Where the scale begins and ends; where the values do if not given.
    """

    dots: tuple[Dot, ...]
    ends: tuple[float, float] | None = (0.0, 1.0)

    @property
    def _height(self) -> float:  # type: ignore[override]
        return 36 * len(self.dots[:_MOST]) + 46

    def _draw(self, axes: "Axes") -> None:
        shown = self.dots[:_MOST]
        axes.set_ylim(len(shown) - 0.35, -0.75)
        axes.set_yticks([])
        if self.ends:
            margin = (self.ends[1] - self.ends[0]) / 60
            axes.set_xlim(self.ends[0] - margin, self.ends[1] + margin)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x")
        if not self.ends or self.ends[0] < 0:
            axes.axvline(0, color=_SOFT, linewidth=1)
        of_axes = axes.get_yaxis_transform()
        for row, dot in enumerate(shown):
            if dot.interval:
                ends = dot.interval.low, dot.interval.high
                axes.hlines(row, *ends, color=_ACCENT, linewidth=2.5)
            axes.plot([dot.value], [row], "o", color=_ACCENT, markersize=8)
            axes.text(0, row - 0.3, _name(dot.name), transform=of_axes, va="bottom")
            value = f"{dot.value:.{dot.digits}f}"
            axes.text(1, row - 0.3, value, transform=of_axes, va="bottom", ha="right")


@dataclass(frozen=True)
class Columns(Drawing):
    """Values in columns, each with its interval where it has one.

    Attributes:
        columns: From the left.
        of: The upright scale's title.
    """

    columns: tuple[Dot, ...]
    of: str

    def _draw(self, axes: "Axes") -> None:
        shown = self.columns[:_MOST]
        places = range(len(shown))
        axes.bar(places, [each.value for each in shown], color=_ACCENT, width=0.72)
        for place, each in enumerate(shown):
            if each.interval:
                ends = each.interval.low, each.interval.high
                axes.vlines(place, *ends, color=_INK, linewidth=1.5)
        step = 1 + len(shown) // 12
        axes.set_xticks(places[::step], [_name(each.name) for each in shown[::step]])
        axes.set_xlim(-0.6, max(len(shown), 4) - 0.4)
        axes.tick_params(axis="x", length=0)
        axes.set_ylabel(_name(self.of))
        axes.set_ylim(bottom=0)
        axes.locator_params(axis="y", nbins=5, integer=not any(each.digits for each in shown))
        axes.grid(axis="y")


@dataclass(frozen=True)
class Stack(Drawing):
    """Parts of a whole as one bar, beneath which they are named.

    Attributes:
        parts: (group, name, items) of each; those of a group stand together and share a colour.
    """

    parts: tuple[tuple[str, str, int], ...]

    @property
    def _height(self) -> float:  # type: ignore[override]
        groups = {group for group, _, _ in self.parts}
        return 60 + 20 * (len(self.parts[:_MOST]) + len(groups))

    def _draw(self, axes: "Axes") -> None:
        total = sum(items for _, _, items in self.parts) or 1
        groups = list(dict.fromkeys(group for group, _, _ in self.parts))
        top, line = self._height, 28.0
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(top, 0)
        left = 0.0
        for group in groups:
            colour = _SERIES[groups.index(group) % len(_SERIES)]
            own = [(name, items) for each, name, items in self.parts[:_MOST] if each == group]
            whole = sum(items for _, items in own)
            line += 22
            axes.text(0, line, _name(group), va="center", weight="bold")
            axes.text(1, line, format_share(whole, total), va="center", ha="right", weight="bold")
            for place, (name, items) in enumerate(own):
                share, shade = items / total, max(0.4, 1 - 0.2 * place)
                axes.barh(12, share, left=left, height=24, color=colour, alpha=shade)
                left += share
                line += 20
                axes.text(0, line, "■", color=colour, alpha=shade, va="center")
                axes.text(0.05, line, _name(name), va="center", color=_SOFT)
                axes.text(1, line, f"{items:,}", va="center", ha="right", color=_SOFT)


@dataclass(frozen=True)
class Points(Drawing):
    """Points in two scales: a curve, or each by its mark over a logarithmic one.

    Attributes:
        of: The upright scale's title.
        points: (level, upright) of each.
        marks: Their names; a curve has none.
    """

    of: str
    points: tuple[tuple[float, float], ...]
    marks: tuple[str, ...] = ()

    def _draw(self, axes: "Axes") -> None:
        line = "o" if self.marks else "o-" if len(self.points) <= _MOST else "-"
        points = [(_bounded(level), _bounded(upright)) for level, upright in self.points]
        axes.plot(*zip(*points, strict=True), line, color=_ACCENT, linewidth=2, markersize=7)
        axes.set_ylabel(_name(self.of))
        axes.margins(0.1, 0.15)
        axes.grid()
        for mark, place in zip(self.marks, points, strict=False):
            axes.annotate(_name(mark), place, (7, 4), textcoords="offset points")
        if self.marks:
            from matplotlib.ticker import LogLocator  # noqa: PLC0415 - as in `_svg`

            axes.set_xscale("log", subs=[])
            axes.xaxis.set_major_formatter("{x:,g}")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


@dataclass(frozen=True)
class Curve:
    """A named curve, with the half of a band's width at each point; one point is a level line."""

    name: str
    points: tuple[tuple[float, float], ...]
    band: tuple[float, ...] = ()


@dataclass(frozen=True)
class Curves(Drawing):
    """Curves on the same scales, named beneath.

    Attributes:
        curves: The curves; the first is drawn in ink, broken.
        of: The upright scale's title.
    """

    curves: tuple[Curve, ...]
    of: str

    @property
    def _height(self) -> float:  # type: ignore[override]
        return 230 + 18 * math.ceil(len(self.curves[:_MOST]) / 2)

    def _draw(self, axes: "Axes") -> None:
        for place, curve in enumerate(self.curves[:_MOST]):
            colour = _SERIES[(place - 1) % len(_SERIES)] if place else _INK
            stroke: Any = "-" if 0 < place <= len(_SERIES) else "--"
            shown: dict[str, Any] = {"color": colour, "linestyle": stroke, "linewidth": 1.8}
            if len(curve.points) == 1:
                axes.axhline(curve.points[0][1], label=_name(curve.name), **shown)
                continue
            level, upright = zip(*curve.points, strict=True)
            axes.plot(level, upright, label=_name(curve.name), **shown)
            if curve.band:
                half = np.array(curve.band)
                low, high = np.array(upright) - half, np.array(upright) + half
                axes.fill_between(level, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set_ylabel(_name(self.of))
        axes.grid()
        axes.figure.legend(
            loc="outside lower left", ncols=2, frameon=False, fontsize=11, handlelength=1.6
        )


def curves_figure(title: str, of: str, curves: Sequence[Curve], about: str) -> Figure:
    """Return curves as a figure, which says in words where each begins and ends.

    ``title`` is that of the level scale, ``of`` that of the upright one.
    """
    told = "; ".join(
        f"{each.name} {each.points[0][1]:.4f} to {each.points[-1][1]:.4f}"
        if len(each.points) > 1
        else f"{each.name} {each.points[0][1]:.4f}"
        for each in curves[:_MOST]
    )
    return Figure(Curves(title, tuple(curves), of), f"{about}, {of} by {title}: {told}")


def dots_figure(
    title: str,
    dots: Sequence[Dot],
    table: Table = Figure.table,
    ends: tuple[float, float] | None = (0.0, 1.0),
) -> Figure:
    """Return values by name as a figure, which says in words the first and the last."""
    named = [f"{dot.name} {dot}" for dot in dots]
    alt = f"{title}, a row each, from {named[0]} to {named[-1]}" if named else title
    return Figure(Dots(title, tuple(dots), ends), alt, table)


def columns_figure(
    title: str, of: str, columns: Sequence[Dot], table: Table = Figure.table
) -> Figure:
    """Return values in columns as a figure, which says all in words."""
    told = ", ".join(f"{each.name}: {each.value:.{each.digits}f}" for each in columns[:_MOST])
    return Figure(Columns(title, tuple(columns), of), f"{of} by {title}: {told}", table)


def stack_figure(
    counts: Mapping[tuple[str, str], int], groups: str, parts: str, caption: str
) -> Figure:
    """Return counts as one bar with its table.

    Args:
        counts: (group, part) → items, named by identifiers.
        groups: What groups are.
        parts: What parts are.
        caption: What is shown.
    """
    sizes: dict[str, int] = {}
    for (group, _), items in counts.items():
        sizes[group] = sizes.get(group, 0) + items
    ordered = sorted(counts.items(), key=lambda each: (-sizes[each[0][0]], each[0][0], -each[1]))
    total = sum(sizes.values())
    named = tuple((format_words(g), format_words(p), items) for (g, p), items in ordered)
    rows = [(g, p, f"{items:,}", format_share(items, total)) for g, p, items in named]
    told = ", ".join(f"{format_words(g)} {format_share(n, total)}" for g, n in sizes.items())
    table = Table((groups, parts, "pairs", "share"), rows, text_columns=2, caption=caption)
    return Figure(Stack("", named), f"One bar by {groups} and {parts}: {told}", table)
