"""The pages as a static folder, which a browser opens without a server.

Each page that another one leads to is written once, from the list of all pairs on; there are no
forms, so that lists come by one filter each.
"""

from collections import deque
from pathlib import Path

from infra.identity import mark_of
from infra.store.snapshot import Snapshot
from tasks.benchmarks.writer import atomic_folder
from tasks.browse.pages import PAGES
from tasks.browse.rendering import html_of, static_files

_FIRST = "pairs"


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
