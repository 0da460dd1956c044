"""The page in a real browser: it obeys its own policy, complains of nothing and fits a phone."""

import html
from pathlib import Path

import pytest

from tasks.reports.run import render_html
from tests.browser import open_page
from tests.fakes.reports import hostile_report, realistic_report

pytestmark = pytest.mark.browser

_MEASURE = """onload = () => {
    const inner = frames[0].document.documentElement;
    document.title = `sticks out by ${inner.scrollWidth - inner.clientWidth}`;
}"""


def test_it_renders_without_a_complaint(tmp_path: Path) -> None:
    document, complaints = open_page(render_html(realistic_report()), tmp_path)
    assert complaints == []
    assert document.count('<details class="pair">') == 20
    assert document.count("<rect") == 28


def test_hostile_pages_run_nothing(tmp_path: Path) -> None:
    payload = "</pre></style></title><script>document.title='owned'</script><img src=x onerror=a>"
    document, complaints = open_page(render_html(hostile_report(payload)), tmp_path)
    assert complaints == []
    assert "<title>owned" not in document
    assert "<script" not in document
    assert "<img" not in document


@pytest.mark.parametrize(("width", "text"), [(400, ""), (1280, ""), (400, "x" * 3_000)])
def test_nothing_sticks_out_sideways(tmp_path: Path, width: int, text: str) -> None:
    report = hostile_report(text) if text else realistic_report()
    page = render_html(report).replace('<details class="pair">', '<details class="pair" open>')
    frame = f'<iframe width="{width}" height="900" srcdoc="{html.escape(page)}"></iframe>'
    document, _ = open_page(f"{frame}<script>{_MEASURE}</script>", tmp_path)
    assert "<title>sticks out by 0</title>" in document
