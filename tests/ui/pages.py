"""The Prefect UI in a headless browser, with a screenshot of each page on request."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.browser import CHROMIUM

_WIDTH, _HEIGHT = 1280, 860
_PATIENCE_MS = 150_000
# Prefect's own, of a graph that is left while it is drawn: its parts have no parent any more.
_LEFT_GRAPH = re.compile(r"of null \((reading|setting) '(position|_parentID|updateTransform)'\)")
_DRAWING_MS = 2_500  # until lists have come and the graph stands still


class Pages:
    """One tab of the browser.

    Attributes:
        complaints: What pages failed with.
    """

    def __init__(self, page: Page, ui: str, screenshots: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self._ui = ui
        self._screenshots = screenshots
        page.set_default_timeout(_PATIENCE_MS)
        page.on("pageerror", lambda error: self._note(str(error)))

    def _note(self, complaint: str) -> None:
        if not _LEFT_GRAPH.search(complaint):
            self.complaints.append(complaint)

    def visit(self, path: str) -> None:
        """Go to a page."""
        self.page.goto(f"{self._ui}{path}")

    def log_in(self, password: str) -> None:
        """Give the password that the server asks for; the browser keeps it."""
        self.visit("/")
        self.page.get_by_placeholder("admin:pass").fill(password)
        self.press("Login")
        self.page.wait_for_url(lambda url: "/login" not in url)

    def press(self, name: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str) -> None:
        """Follow the first link with this text in it to its page."""
        before = self.page.url
        self.page.get_by_role("link", name=name).first.click()
        self.page.wait_for_url(lambda url: url != before)

    def fill(self, field: str, value: str) -> None:
        """Fill in a field of a form."""
        labelled = self.page.locator(".schema-form-property").filter(has_text=field)
        labelled.locator("input").last.fill(value)

    def turn_to(self, tab: str) -> None:
        """Turn to a tab of a run's page."""
        self.page.get_by_role("tablist").get_by_text(tab, exact=True).click()

    def see(self, text: str) -> Locator:
        """Wait for a text and return where it is."""
        found = self.page.get_by_text(text).locator("visible=true").first
        expect(found).to_be_visible(timeout=_PATIENCE_MS)
        return found

    def text(self) -> str:
        """Return the page's text."""
        return self.page.locator("body").inner_text()

    def screenshot(self, name: str, height: int = _HEIGHT, shows: Iterable[str] = ()) -> None:
        """Keep a screenshot of the page, and what it shows that must be so as long as it is there.

        `tests.test_statements` compares shown.json with the program.
        """
        file = self._screenshots / "shown.json"
        shown = json.loads(file.read_text("utf-8")) if file.is_file() else {}
        text = json.dumps(shown | {name: list(shows)}, indent=1, ensure_ascii=False)
        file.write_text(f"{text}\n", "utf-8")
        self.page.set_viewport_size({"width": _WIDTH, "height": height})
        self.page.wait_for_timeout(_DRAWING_MS)
        self.page.screenshot(path=self._screenshots / f"{name}.png", animations="disabled")
        self.page.set_viewport_size({"width": _WIDTH, "height": _HEIGHT})


@contextmanager
def opened(ui: str, screenshots: Path) -> Iterator[Pages]:
    """Yield a tab of a new browser.

    Args:
        ui: Address of the pages.
        screenshots: Folder of screenshots.
    """
    screenshots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM,
            chromium_sandbox=os.geteuid() != 0,  # it refuses to be one of root's
            args=["--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        context = browser.new_context(
            viewport={"width": _WIDTH, "height": _HEIGHT},
            locale="en-GB",
            timezone_id="UTC",
            reduced_motion="reduce",
        )
        yield Pages(context.new_page(), ui, screenshots)
        context.close()
        browser.close()
