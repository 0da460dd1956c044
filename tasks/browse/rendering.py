"""Pages as HTML by the templates, which escape all text: on a server, or as a static folder.

In the folder each page that another one leads to is written once, from the list of all pairs on;
there are no forms, so that lists come by one filter each.
"""

from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

import tasks.reports
from infra.identity import mark_of
from infra.store.browsing import Snapshot
from tasks.benchmarks.writer import atomic_folder
from tasks.browse.pages import PAGES, Page
from tasks.reports.render import environment
from tasks.reports.text import format_cost, format_duration, format_words, visible

_HERE = Path(__file__).parent
_LINE = 200

Link = Callable[..., str]  # a page's name and its parameters → its address

_FIRST = "pairs"


def html_of(page: Page, snapshot: Snapshot, link: Link, **more: Any) -> str:  # noqa: ANN401
    """Return a page, whose template knows ``more`` too, such as who labels."""
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


def write_bundle(snapshot: Snapshot, folder: Path) -> int:
    """Write all pages into a folder, in place of those of an earlier time; return their number.

    Raises:
        PublishError: The folder has other files.
    """
    known: dict[str, tuple[str, dict[str, str]]] = {}
    waiting: deque[str] = deque()

    def link(page: str, **parameters: object) -> str:
        given = {name: str(value) for name, value in parameters.items() if value not in ("", None)}
        name = f"{page}-{mark_of(given)}.html" if given else f"{page}.html"
        name = "index.html" if name == f"{_FIRST}.html" else name
        if name not in known:
            known[name] = (page, given)
            waiting.append(name)
        return name

    with atomic_folder(folder, _own) as partial:
        for name, content in static_files().items():
            (partial / name).write_bytes(content)
        link(_FIRST)
        while waiting:
            name = waiting.popleft()
            page, given = known[name]
            html = html_of(PAGES[page](snapshot, given), snapshot, link)
            (partial / name).write_text(html, encoding="utf-8")
    return len(known)


def _own(folder: Path) -> set[str]:
    """Return the files of a folder that an earlier bundle may have written."""
    pages = {file.name for name in PAGES for file in folder.glob(f"{name}*.html")}
    return {"index.html", *static_files(), *pages}
