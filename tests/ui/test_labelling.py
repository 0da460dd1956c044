"""Three people label twenty pairs in a browser; the pages are accessible and nothing sticks out.

With ``COSQA_SCREENSHOTS=FOLDER`` it writes screenshots of all pages into that folder.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from infra.identity import RecipeId
from infra.records import Code, Pair, Query
from infra.settings import StoreSettings
from infra.store import Database, annotations, open_database, samples
from infra.store.samples import Sample, SampleItem
from infra.store.votes import load_votes
from tests.browser import CHROMIUM
from tests.fakes.browsing import judged
from tests.flows.world import COSQA
from tests.ports import free_port

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.slow(200)]


# What is asked for, the expression that answers it, and one that does not.
_ASKED = (
    ("reverse the characters of a string", "text[::-1]", "text[1:]"),
    ("count the vowels in a word", "sum(c in 'aeiou' for c in text)", "len(text)"),
    ("remove spaces from a string", "text.replace(' ', '')", "text.strip()"),
    ("check whether a word is a palindrome", "text == text[::-1]", "text == text.lower()"),
    ("first word of a sentence", "text.split()[0]", "text[0]"),
    ("last word of a sentence", "text.split()[-1]", "text[-1]"),
    ("capitalise each word", "text.title()", "text.capitalize()"),
    ("number of words in a text", "len(text.split())", "text.count(' ')"),
    ("letters of a word in order", "''.join(sorted(text))", "sorted(text)[0]"),
    ("text without its first character", "text[1:]", "text[:-1]"),
)


def pairs_to_label() -> list[Pair]:
    """Return twenty pairs: each query with a code that answers it, and one that does not."""
    return [
        Pair(
            query=Query.of(query),
            code=Code.of(f'def answer(text):\n    """{kind}."""\n    return {expression}'),
        )
        for query, right, wrong in _ASKED
        for kind, expression in (("One way", right), ("Another way", wrong))
    ]


def labelled_store(folder: Path) -> tuple[Database, Sample]:
    """Return a store whose agents have judged the pairs, and a sample of all of them."""
    database = open_database(StoreSettings(folder=folder, lock_timeout_s=60))
    pairs = pairs_to_label()
    annotations.record_pairs(database, pairs)
    recipe = RecipeId("a1b2c3d4e5f6a7b8c9d0")
    annotations.record_recipes(database, {recipe: {"model": {"model": "openai/scripted"}}})
    annotations.add_annotations(
        database,
        [
            judged(pair, recipe, f"made up for {pair.query.text}", label=1 - place % 2)
            for place, pair in enumerate(pairs)
        ],
    )
    items = tuple(
        SampleItem(query_id=pair.query.query_id, code_id=pair.code.code_id, position=place)
        for place, pair in enumerate(pairs, start=1)
    )  # fmt: skip
    sample = Sample(collection="", items=items, body={"drawn": "pairs"})
    samples.add_sample(database, sample)
    return database, sample


_PATIENCE_MS = 120_000
_AXE = "axe-core@4.14.1"
_LAUNCHED: dict[str, Any] = {
    "executable_path": CHROMIUM,
    "chromium_sandbox": os.geteuid() != 0,
    "args": ["--disable-gpu", "--disable-background-networking"],
}
# Which code each person takes for an answer, by its place in the sample: the truth is every other.
_SAID = {
    "Ann": [1, 0] * 10,
    "Ben": [1, 0] * 8 + [0, 1, 0, 1],
    "Cat": {17: 1, 18: 0, 19: 1, 20: 1},  # of those on which the others disagree
}
_PROGRAM = "from target import answer\n\ndef test_it():\n    assert answer('abc') == {value!r}\n"


class Server(NamedTuple):
    """A running ``cosqa browse``."""

    address: str
    process: "subprocess.Popen[str]"


@contextmanager
def served(database: Database) -> Iterator[Server]:
    """Yield ``cosqa browse`` over a store."""
    port = free_port()
    folder = str(database.settings.folder)
    command = [COSQA, "browse", "--store", folder, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert "The pages are at" in process.stdout.readline()
            yield Server(f"http://127.0.0.1:{port}", process)
            process.send_signal(signal.SIGINT)
            process.wait(60)
        finally:
            process.kill()


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        started = driver.chromium.launch(**_LAUNCHED)
        yield started
        started.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the script of axe-core, "" where the npm registry cannot be asked."""
    folder = tmp_path_factory.mktemp("axe")
    if not (npm := shutil.which("npm")):
        return ""
    packed = subprocess.run(
        [npm, "pack", "--silent", _AXE], cwd=folder, check=False, capture_output=True, timeout=120
    )
    if packed.returncode:
        return ""
    subprocess.run(["tar", "xf", *map(str, folder.glob("*.tgz"))], cwd=folder, check=True)
    return (folder / "package" / "axe.min.js").read_text("utf-8")


class Desk:
    """A tab in which somebody labels; what its pages complain of, or fail in, is noted."""

    def __init__(self, browser: Browser, address: str, axe: str, *, is_phone: bool) -> None:
        self._axe, self._address = axe, address
        self.complaints: list[str] = []
        self._suffix = "-phone" if is_phone else ""
        context = browser.new_context(
            viewport={"width": 400 if is_phone else 1280, "height": 860},
            color_scheme="dark" if is_phone else "light",
        )
        self.page: Page = context.new_page()
        self.page.set_default_timeout(_PATIENCE_MS)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def visit(self, path: str, name: str = "") -> None:
        self.page.goto(f"{self._address}{path}")
        if name:
            self.look(name)

    def look(self, name: str) -> None:
        """Check a page as it is: it fits, and axe-core finds no fault; keep a screenshot."""
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        if self.page.evaluate(wide) > 0:
            self.complaints.append(f"{name} sticks out")
        if self._axe:
            self.page.evaluate(self._axe)
            found = self.page.evaluate("axe.run()")["violations"]
            self.complaints += [f"{name}: {each['id']}, {each['help']}" for each in found]
        if folder := os.environ.get("COSQA_SCREENSHOTS"):
            file = Path(folder) / f"browse-{name}{self._suffix}.png"
            self.page.screenshot(path=file, full_page=True)

    def begin(self, sample: Sample, name: str, *, here: bool = False) -> None:
        self.visit(f"/sample?sample={sample.sample_id}")
        self.page.get_by_label("Your name").fill(name)
        self.page.get_by_role("button", name="Begin").click()
        if here:
            self.page.wait_for_selector("[role=alert]")
            self.look("held")
            self.page.get_by_role("button", name=f"Go on here as {name}").click()
        self.page.wait_for_selector("#vote")

    def label(self, grade_of: dict[tuple[str, str], int]) -> None:
        """Label all items by keys alone."""
        while "evidence unlocked" not in self.page.inner_text(".progress"):
            before = self.page.inner_text(".progress")
            self.page.keyboard.press(str(grade_of[self.subject()]))
            self.page.keyboard.press("Enter")
            self.page.wait_for_function(
                "before => document.querySelector('.progress')?.innerText !== before", arg=before
            )

    def subject(self) -> tuple[str, str]:
        code = self.page.inner_text(".subject pre").strip()
        return self.page.inner_text("h1").strip(), re.sub(r"\s+", " ", code)


def grades(said: dict[int, int]) -> dict[tuple[str, str], int]:
    """Return (query, code) → grade of the pairs at these places of the sample."""
    pairs = dict(enumerate(pairs_to_label(), start=1))
    return {
        (pairs[place].query.text, re.sub(r"\s+", " ", pairs[place].code.text)): grade
        for place, grade in said.items()
    }


@pytest.fixture
def world(tmp_path: Path) -> tuple[Database, Sample]:
    return labelled_store(tmp_path / "store")


def test_three_people_label_by_keyboard_and_alpha_is_as_worked_out_by_hand(
    world: tuple[Database, Sample], browser: Browser, axe: str
) -> None:
    database, sample = world
    places = range(1, 21)
    with served(database) as server:
        desks = [Desk(browser, server.address, axe, is_phone=name == "Ben") for name in _SAID]
        ann, ben, cat = desks
        for desk in (ann, ben):
            read_pages(desk)
        for desk, name in ((ann, "Ann"), (ben, "Ben")):
            desk.begin(sample, name)
            desk.look("item")
            said = _SAID[name]
            assert isinstance(said, list)
            desk.label(grades(dict(zip(places, said, strict=True))))
            desk.look("evidence")
        ann.visit(f"/sample?sample={sample.sample_id}", "sample")
        # 40 ratings, 20 of them 1; 4 of 20 pairs differ: D_o = 4/20, D_e = 2·20·20/(40·39).
        expected = 1 - (4 / 20) / (2 * 20 * 20 / (40 * 39))
        assert ann.page.inner_text("#alpha") == f"{expected:.3f}"
        supervises(ann, sample)
        ben.visit(f"/disagreements?sample={sample.sample_id}", "disagreements")
        ben.visit(f"/overview?sample={sample.sample_id}", "overview")
        said = _SAID["Cat"]
        assert isinstance(said, dict)
        cat.begin(sample, "Cat")
        assert "item 1 of 4" in cat.page.inner_text(".progress")
        cat.label(grades(said))
        revises(ann)
        for desk in desks:
            assert desk.complaints == []
    votes = load_votes(database, sample.origin)
    assert sorted((vote.annotator, vote.phase) for vote in votes) == sorted(
        [("Ann", "blind"), ("Ben", "blind")] * 20 + [("Cat", "blind")] * 4 + [("Ann", "revised")]
    )


def read_pages(desk: Desk) -> None:
    """Filter the list, read a pair and a query, look at methods and samples."""
    desk.visit("/pairs", "pairs")
    desk.page.get_by_label("Query has").fill("VOWELS")
    desk.page.get_by_role("button", name="Filter").click()
    assert "2 pairs" in desk.page.inner_text("main")
    desk.page.locator("table.pairs td:nth-child(3) a").first.click()
    desk.page.wait_for_selector("#agents")
    for details in desk.page.locator("details").all():
        details.locator("summary").click()
    desk.look("pair")
    desk.page.get_by_role("link", name="All candidates of this query").click()
    desk.page.wait_for_selector(".candidates")
    desk.look("query")
    desk.visit("/methods", "methods")
    desk.visit("/label", "samples")


def supervises(desk: Desk, sample: Sample) -> None:
    """Look at what people differ on, with what they and the agents say of it."""
    desk.page.get_by_role("link", name="Where people differ").click()
    desk.page.wait_for_selector(".differ")
    assert desk.page.locator(".differ").count() == 4
    for summary in desk.page.locator(".differ summary").all()[:2]:
        summary.click()
    desk.look("disagreements")
    desk.visit(f"/overview?sample={sample.sample_id}", "overview")
    desk.visit(f"/sample?sample={sample.sample_id}")


def revises(desk: Desk) -> None:
    """Go back to a label after the evidence, and change it."""
    desk.page.get_by_role("link", name="Go on as Ann").click()
    desk.page.wait_for_selector("#evidence")
    before = desk.page.inner_text(".progress")
    desk.page.keyboard.press("u")
    desk.page.keyboard.press("n")
    desk.page.keyboard.type("the test shows 0 and 1")
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("Enter")
    desk.page.wait_for_function(
        "before => document.querySelector('.progress')?.innerText !== before", arg=before
    )


def test_labelling_goes_on_when_a_browser_is_closed_between_two_items(
    world: tuple[Database, Sample], browser: Browser, axe: str, tmp_path: Path
) -> None:
    database, sample = world
    address = f"/sample?sample={sample.sample_id}"
    with served(database) as server:
        for number in (1, 2):
            context = browser.browser_type.launch_persistent_context(
                tmp_path / "profile", **_LAUNCHED
            )
            page = context.new_page()
            page.set_default_timeout(_PATIENCE_MS)
            page.goto(f"{server.address}{address}")
            if number == 1:
                page.get_by_label("Your name").fill("Ann")
                page.get_by_role("button", name="Begin").click()
            else:
                page.get_by_role("link", name="Go on as Ann").click()
            page.get_by_text(f"item {number} of 20").wait_for()
            page.wait_for_load_state()
            page.keyboard.press("1")
            page.keyboard.press("Enter")
            page.get_by_text(f"item {number + 1} of 20").wait_for()
            context.close()
        new = Desk(browser, server.address, axe, is_phone=True)  # another browser, of no cookie
        new.begin(sample, "Ann", here=True)
        assert "item 3 of 20 · 2 labelled" in new.page.inner_text(".progress")
        goes_back(new)
        assert [each for each in new.complaints if "400" not in each] == []
    assert len(load_votes(database, sample.origin)) == 3


def goes_back(desk: Desk) -> None:
    """Label an item by keys from within its note, go back to it and forward again."""
    for key in ("1", "n"):
        desk.page.keyboard.press(key)
    desk.page.keyboard.type("because b, f and o are letters here")
    desk.page.keyboard.press("Control+Enter")
    desk.page.get_by_text("item 4 of 20").wait_for()
    desk.page.keyboard.press("b")
    desk.page.get_by_text("item 3 of 20").wait_for()
    desk.look("labelled")
    assert desk.page.get_by_label("Note").input_value().startswith("because b, f")
    desk.page.keyboard.press("f")
    desk.page.get_by_text("item 4 of 20").wait_for()
    desk.page.keyboard.press("g")
    desk.page.get_by_text("int to string").wait_for()
    desk.page.keyboard.press("o")
    desk.page.wait_for_selector("table.items")
    desk.look("overview-here")


@pytest.mark.docker
def test_an_experts_program_runs_in_a_box_and_is_stored_with_the_vote(
    world: tuple[Database, Sample], browser: Browser, axe: str
) -> None:
    database, sample = world
    with served(database) as server:
        desk = Desk(browser, server.address, axe, is_phone=False)
        desk.begin(sample, "Ann")
        desk.page.keyboard.press("t")
        desk.page.keyboard.type(_PROGRAM.format(value="no such value"))
        desk.page.get_by_role("button", name="Run in a box").click()
        desk.page.get_by_text("tests: 1, asserts: 1").wait_for()
        desk.look("program")
        desk.page.get_by_label("answers the query").check()
        desk.page.get_by_role("button", name="Save and next").click()
        desk.page.get_by_text("1 labelled").wait_for()
        assert desk.complaints == []
    [vote] = load_votes(database, sample.origin)
    assert vote.execution is not None
    assert vote.execution.outcome == "assertion_failed"
    assert "no such value" in vote.program


def test_no_label_is_lost_when_the_server_is_killed_beside_a_flow(
    world: tuple[Database, Sample], browser: Browser
) -> None:
    database, sample = world
    said = grades(dict.fromkeys(range(1, 21), 1))
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(database.settings.folder)])
    try:
        told = 0
        for _ in range(3):  # each server is killed while the next label is sent
            with served(database) as server:
                desk = Desk(browser, server.address, "", is_phone=False)
                desk.begin(sample, "Ann", here=told > 0)
                for _ in range(3):
                    before = desk.page.inner_text(".progress")
                    desk.page.keyboard.press(str(said[desk.subject()]))
                    desk.page.keyboard.press("Enter")
                    desk.page.wait_for_function(
                        "before => document.querySelector('.progress')?.innerText !== before",
                        arg=before,
                    )
                    told += 1
                desk.page.keyboard.press("1")
                desk.page.keyboard.press("Enter")
                server.process.kill()
        stored = load_votes(database, sample.origin)
        assert told <= len(stored) <= told + 3
        assert writer.poll() is None, "the flow beside has failed"
    finally:
        writer.kill()
        writer.wait()


# Commits as a flow does, all the time.
_WRITER = """
import sys
from pathlib import Path
from infra.settings import StoreSettings
from infra.store import open_database
database = open_database(StoreSettings(folder=Path(sys.argv[1]), lock_timeout_s=60))
while True:
    with database.transaction() as tx:
        tx.execute("INSERT INTO dropped BY NAME SELECT uuid()::VARCHAR AS collection, "
                   "'r' AS rule, 1 AS items FROM range(1000)")
"""
