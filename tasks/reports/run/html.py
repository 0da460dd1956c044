"""The report as one self-contained HTML page: no scripts, nothing fetched, light and dark."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from tasks.reports import text
from tasks.reports._highlight import coloured
from tasks.reports.run import charts
from tasks.reports.run.data import PAIRS_SHOWN, Histogram, ReportData

# Characters shown of a text; the store keeps all of it.
_LONGEST = {"line": 400, "stream": 4_000, "reply": 8_000, "code": 16_000}


def render_html(data: ReportData) -> str:
    """Return the page. Text of code, queries and replies is escaped."""
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            data=data,
            charts=[charts.chart(histogram) for histogram in _distinct(data.similarities)],
            drawing={"width": charts.WIDTH, "height": charts.HEIGHT},
            pairs=data.pairs[:PAIRS_SHOWN],
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_short,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=text.count,
        cost=text.cost,
        duration=text.duration,
        words=text.words,
        breakable=text.breakable,
        python=lambda value: coloured(text.visible(value, _LONGEST["code"])),
        cut=lambda value, kind: escape(text.visible(value, _LONGEST[kind])),
    )
    environment.globals.update(share=text.share, rate=text.rate)
    environment.tests["safe_link"] = _is_safe_link
    return environment


def _short(value: object) -> object:
    """Return what an expression prints; text that no filter has cut is cut to a line's length."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return text.visible(value, _LONGEST["line"])
    return value


def _distinct(histograms: Iterable[Histogram]) -> list[Histogram]:
    """Return the histograms but those that repeat another, as a lone encoder's does the average."""
    shapes: dict[tuple[object, ...], Histogram] = {}
    for histogram in histograms:
        shapes.setdefault((histogram.edges, histogram.counts), histogram)
    return list(shapes.values())


def _is_safe_link(address: str) -> bool:
    try:
        return urlsplit(address).scheme in {"http", "https", "file", ""}
    except ValueError:
        return False
