"""The application: addresses of pages, of static files, and of forms."""

from collections.abc import Callable
from typing import Protocol
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from infra.errors import CosqaError
from infra.store.snapshot import Snapshot
from tasks.browse.guard import Guard
from tasks.browse.pages import PAGES, NoSuchPageError, Page
from tasks.browse.rendering import html_of, static_files

_TYPES = {"css": "text/css", "js": "text/javascript"}


class Browsed(Protocol):
    """What is browsed."""

    def current(self) -> Snapshot:
        """Return the newest snapshot, at once."""


def address_of(page: str, **parameters: object) -> str:
    """Return the address of a page on the server."""
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"/{page}" + (f"?{urlencode(given)}" if given else "")


def browse_app(browsed: Browsed, guard: Guard) -> ASGIApp:
    """Return the application.

    Args:
        browsed: The store or the folder.
        guard: What each request is asked.
    """

    def shown(request: Request, page: Page, snapshot: Snapshot, status: int = 200) -> Response:
        csrf = guard.form_token(request.scope["browser"])
        html = html_of(page, snapshot, address_of, live=True, csrf=csrf)
        return HTMLResponse(html, status)

    def read(request: Request) -> Response:
        snapshot = browsed.current()
        name = request.path_params["page"]
        if name not in PAGES:
            raise NoSuchPageError(f"there is no page {name!r}")
        return shown(request, PAGES[name](snapshot, dict(request.query_params)), snapshot)

    def refused(request: Request, error: Exception) -> Response:
        status = 404 if isinstance(error, NoSuchPageError) else 400
        return shown(request, Page("error", {"problem": str(error)}), browsed.current(), status)

    routes = [
        Route("/", lambda _: RedirectResponse("/pairs")),
        *(Route(f"/{name}", _static(name)) for name in static_files()),
        Route("/{page:str}", read),
    ]
    app = Starlette(routes=routes, exception_handlers={CosqaError: refused})
    return guard.wrap(app)


def _static(name: str) -> Callable[[Request], Response]:
    kind = _TYPES[name.rpartition(".")[2]]
    return lambda _: Response(static_files()[name], media_type=kind)
