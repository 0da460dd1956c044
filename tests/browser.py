"""A page in a headless Chromium, which tests marked ``browser`` need."""

import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"),
)


def open_page(page: str, folder: Path) -> tuple[str, list[str]]:
    """Return the document as the browser has it, and what it printed to its console."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [str(CHROMIUM), *_QUIET, f"--user-data-dir={folder / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
