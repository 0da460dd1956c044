"""The application: addresses of pages, of static files, and of forms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from infra.errors import CosqaError, SandboxError, StoreLockedError
from infra.store.browsing import Snapshot
from tasks.browse.guard import Guard
from tasks.browse.holders import HeldError
from tasks.browse.labelling import FormError, Labelling
from tasks.browse.pages import PAGES, NoSuchPageError, Page, html_of, pair_page, static_files

_LABELLED: Mapping[str, Callable[[Labelling, Snapshot, str, Mapping[str, str]], Page]] = {
    "label": lambda labelling, snapshot, _browser, _asked: labelling.samples_page(snapshot),
    "sample": lambda labelling, snapshot, browser, asked: labelling.sample_page(
        snapshot, browser, asked.get("sample", "")
    ),
    "item": Labelling.item_page,
    "overview": Labelling.overview_page,
    "disagreements": lambda labelling, snapshot, _browser, asked: labelling.disagreements_page(
        snapshot, asked
    ),
    "pair": lambda labelling, snapshot, browser, asked: pair_page(
        snapshot, asked, labelling.samples_of(browser)
    ),
}
_OF_OTHERS = {*PAGES, "disagreements"}  # pages that whoever labels blind does not see
_TYPES = {"css": "text/css", "js": "text/javascript"}


class SnapshotSource(Protocol):
    """A store or a folder to be browsed."""

    def current(self) -> Snapshot:
        """Return the newest snapshot, at once."""


def address_of(page: str, **parameters: object) -> str:
    """Return the address of a page on the server."""
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"/{page}" + (f"?{urlencode(given)}" if given else "")


def browse_app(
    browsed: SnapshotSource, guard: Guard, labelling: Labelling | None = None
) -> ASGIApp:
    """Return the application; pages of a folder, which has no labelling, label nothing."""
    site = _Site(browsed, guard, labelling)
    routes = [
        Route("/", lambda _: RedirectResponse("/pairs")),
        *(Route(f"/{name}", _static(name)) for name in static_files()),
        Route("/{page:str}", site.read),
        Route("/{action:str}", site.write, methods=["POST"]),
    ]
    app = Starlette(
        routes=routes, exception_handlers=dict.fromkeys((CosqaError, ValueError), site.refuse)
    )
    return guard.wrap(app)


@dataclass(frozen=True)
class _Site:
    browsed: SnapshotSource
    guard: Guard
    labelling: Labelling | None

    def read(self, request: Request) -> Response:
        name, asked = request.path_params["page"], dict(request.query_params)
        snapshot, browser = self.browsed.current(), request.scope["browser"]
        blind = self.labelling.blind_sample(snapshot, browser) if self.labelling else ""
        if blind and name in _OF_OTHERS:
            return self._show(request, Page("blind", {"sample": blind}), 403)
        if self.labelling and name in _LABELLED:
            return self._show(request, _LABELLED[name](self.labelling, snapshot, browser, asked))
        if name not in PAGES:
            raise NoSuchPageError(f"there is no page {name!r}")
        return self._show(request, PAGES[name](snapshot, asked))

    async def write(self, request: Request) -> Response:
        form = await self.guard.form(request)
        if form is None:
            told = "This form is no form of these pages, or too large: go back, and load it anew.\n"
            return PlainTextResponse(told, 403)
        return await run_in_threadpool(self._act, request, form)

    def _act(self, request: Request, form: Mapping[str, str]) -> Response:
        action, browser = request.path_params["action"], request.scope["browser"]
        labelling, snapshot = self.labelling, self.browsed.current()
        if labelling is None or action not in ("begin", "leave", "vote", "program"):
            raise NoSuchPageError(f"nothing is done at {action!r}")
        following: dict[str, object] = {"sample": form.get("sample", "")}
        if action == "leave":
            labelling.leave(browser, form.get("sample", ""))
            return RedirectResponse(address_of("sample", **following), 303)
        problem = ""
        try:
            if action == "program":
                labelling.run(snapshot, browser, form)
            elif action == "vote":
                following = labelling.vote(snapshot, browser, form)
            else:
                labelling.begin(snapshot, browser, form)
        except (FormError, StoreLockedError, SandboxError) as error:
            if action == "begin":
                raise
            problem = str(error)
        if problem or action == "program":
            page = labelling.item_page(snapshot, browser, form, form, problem)
            return self._show(request, page, 400 if problem else 200)
        return RedirectResponse(address_of("item", **following), 303)

    def refuse(self, request: Request, error: Exception) -> Response:
        if self.labelling and isinstance(error, HeldError):
            browser, sample = request.scope["browser"], error.sample_id
            page = self.labelling.sample_page(self.browsed.current(), browser, sample, error)
            return self._show(request, page, 400)
        status = 404 if isinstance(error, NoSuchPageError) else 400
        return self._show(request, Page("error", {"problem": str(error)}), status)

    def _show(self, request: Request, page: Page, status: int = 200) -> Response:
        html = html_of(
            page, self.browsed.current(), address_of, live=True, labels=bool(self.labelling),
            csrf=self.guard.form_token(request.scope["browser"]),
        )  # fmt: skip
        return HTMLResponse(html, status)


def _static(name: str) -> Callable[[Request], Response]:
    kind = _TYPES[name.rpartition(".")[2]]
    return lambda _: Response(static_files()[name], media_type=kind)
