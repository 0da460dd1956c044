"""Pages as HTML by the templates, which escape all text, and the files that they need."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

import tasks.reports
from infra.store.snapshot import Snapshot
from tasks.browse.pages import Page
from tasks.reports.render import environment
from tasks.reports.text import format_cost, format_duration, format_words, visible

_HERE = Path(__file__).parent
_LINE = 200

Link = Callable[..., str]  # a page's name and its parameters → its address


def html_of(page: Page, snapshot: Snapshot, link: Link, **more: Any) -> str:  # noqa: ANN401
    """Return a page.

    Args:
        page: What it shows.
        snapshot: What it was read from.
        link: Makes the addresses of other pages.
        more: What else templates know, such as who labels.
    """
    template = _environment().get_template(f"{page.template}.html.jinja")
    known = {"live": False, "labels": False, "csrf": "", **more}
    return template.render(page.shown, snapshot=snapshot, link=link, page=page.template, **known)


@cache
def static_files() -> dict[str, bytes]:
    """Return name → content of style sheet and script, which pages load from beside them."""
    base = Path(tasks.reports.__file__).with_name("page.css")
    own = _HERE / "static"
    return {
        "style.css": base.read_bytes() + (own / "browse.css").read_bytes(),
        "script.js": (own / "browse.js").read_bytes(),
    }


@cache
def _environment() -> Environment:
    made = environment(_HERE / "templates")
    made.filters |= {
        "line": lambda text: visible(" ".join(str(text).split()), _LINE),
        "words": lambda text: format_words(visible(str(text), _LINE)),
        "money": lambda amount: "" if amount is None else format_cost(amount),
        "duration": lambda seconds: "" if seconds is None else format_duration(seconds),
    }
    return made
