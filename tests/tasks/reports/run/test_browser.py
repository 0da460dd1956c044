"""The page in a real browser: it obeys its own policy, complains of nothing and fits a phone."""

import html
import shutil
import subprocess
from pathlib import Path

import pytest

from tasks.reports.run import render_html
from tests.fakes.reports import hostile_report, realistic_report

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        _CHROMIUM is None, reason="no Chromium on this machine: apt install chromium"
    ),
]

_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"),
)


_MEASURE = """onload = () => {
    const inner = frames[0].document.documentElement;
    document.title = `sticks out by ${inner.scrollWidth - inner.clientWidth}`;
}"""


def _open(page: str, folder: Path) -> tuple[str, list[str]]:
    """Return the document as the browser has it, and what it printed to its console."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [str(_CHROMIUM), *_QUIET, f"--user-data-dir={folder / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_it_renders_without_a_complaint(tmp_path: Path) -> None:
    document, complaints = _open(render_html(realistic_report()), tmp_path)
    assert complaints == []
    assert document.count('<details class="pair">') == 20
    assert document.count("<rect") == 28


def test_hostile_pages_run_nothing(tmp_path: Path) -> None:
    payload = "</pre></style></title><script>document.title='owned'</script><img src=x onerror=a>"
    document, complaints = _open(render_html(hostile_report(payload)), tmp_path)
    assert complaints == []
    assert "<title>owned" not in document
    assert "<script" not in document
    assert "<img" not in document


@pytest.mark.parametrize(("width", "text"), [(400, ""), (1280, ""), (400, "x" * 3_000)])
def test_nothing_sticks_out_sideways(tmp_path: Path, width: int, text: str) -> None:
    report = hostile_report(text) if text else realistic_report()
    page = render_html(report).replace('<details class="pair">', '<details class="pair" open>')
    frame = f'<iframe width="{width}" height="900" srcdoc="{html.escape(page)}"></iframe>'
    document, _ = _open(f"{frame}<script>{_MEASURE}</script>", tmp_path)
    assert "<title>sticks out by 0</title>" in document
