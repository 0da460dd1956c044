"""The report as one self-contained HTML page: no scripts, nothing fetched, light and dark."""

from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tasks.report import charts, wording
from tasks.report.data import PAIRS_SHOWN, ReportData
from tasks.report.highlight import coloured

# Characters that are shown of a text; the store keeps all of it.
_LONGEST = {"line": 400, "stream": 4_000, "reply": 8_000, "code": 16_000}


def render_html(data: ReportData) -> str:
    """Return the page. Whatever code, queries and replies say, it is shown and never obeyed."""
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            data=data,
            charts=[charts.chart(histogram) for histogram in data.similarities],
            drawing={"width": charts.WIDTH, "height": charts.HEIGHT},
            pairs=data.pairs[:PAIRS_SHOWN],
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=wording.count,
        cost=wording.cost,
        duration=wording.duration,
        words=wording.words,
        python=lambda text: coloured(wording.visible(text, _LONGEST["code"])),
        cut=lambda text, kind: wording.visible(text, _LONGEST[kind]),
    )
    environment.globals.update(share=wording.share)
    environment.tests["safe_link"] = _is_safe_link
    return environment


def _is_safe_link(address: str) -> bool:
    try:
        return urlsplit(address).scheme in {"http", "https", "file", ""}
    except ValueError:
        return False
