"""Pages in a real browser: they obey their policy, complain of nothing and fit a phone."""

import html
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.reports.document import Document
from tasks.reports.estimation import estimation_document
from tasks.reports.kape import kape_document
from tasks.reports.leaderboard import leaderboard_document
from tasks.reports.render import html_page
from tasks.reports.run import report_document
from tests.browser import open_page
from tests.fakes.estimations import estimation_report, kape_report
from tests.fakes.reports import hostile_judgement, hostile_report
from tests.tasks.reports.leaderboard.cases import leaderboard

pytestmark = pytest.mark.browser

PAYLOAD = "</pre></style></title><script>document.title='owned'</script><img src=x onerror=a>"
_MEASURE = """onload = () => {
    const inner = frames[0].document.documentElement;
    document.title = `sticks out by ${inner.scrollWidth - inner.clientWidth}`;
}"""

REPORTS: dict[str, Callable[[str], Document]] = {
    "run": lambda text: report_document(hostile_report(text)),
    "pair": hostile_judgement,
    "leaderboard": lambda text: leaderboard_document(
        leaderboard().model_copy(update={"benchmark": text, "label_origin": text})
    ),
    "estimate": lambda text: estimation_document(estimation_report(text, "two", note=text)),
    "kape": lambda text: kape_document(kape_report(text)),
}


@pytest.mark.parametrize("name", REPORTS)
def test_hostile_pages_run_nothing_and_complain_of_nothing(tmp_path: Path, name: str) -> None:
    document, complaints = open_page(html_page(REPORTS[name](PAYLOAD)), tmp_path)
    assert complaints == []
    assert "<title>owned" not in document
    assert "<script" not in document
    assert "<img" not in document


@pytest.mark.parametrize(("width", "text"), [(400, "a name"), (1280, "a name"), (400, "x" * 3_000)])
@pytest.mark.parametrize("name", REPORTS)
def test_nothing_sticks_out_sideways(tmp_path: Path, width: int, text: str, name: str) -> None:
    page = html_page(REPORTS[name](text)).replace("<details>", "<details open>")
    frame = f'<iframe width="{width}" height="900" srcdoc="{html.escape(page)}"></iframe>'
    document, _ = open_page(f"{frame}<script>{_MEASURE}</script>", tmp_path)
    assert "<title>sticks out by 0</title>" in document
