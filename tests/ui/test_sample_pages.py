"""The pages of the packaged sample's run in a browser: its report, a leaderboard, a judged pair.

With ``COSQA_SCREENSHOTS=FOLDER`` it writes the README's pictures into that folder, as
``make screenshots`` does.
"""

import os
from pathlib import Path

import pytest

from tests.flows.world import COSQA, bare_world
from tests.ui.pages import opened

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.docker, pytest.mark.slow(300)]

_EXPORT = "cosqa-benchmarks/stdlib-sample-agents"


def test_the_sample_s_report_leaderboard_and_pairs_can_be_looked_at(tmp_path: Path) -> None:
    world = bare_world(tmp_path)
    for words in (
        ("benchmark",),
        ("leaderboard", "--benchmark", _EXPORT),
        ("browse", "--bundle", "pages"),
    ):
        done = world.finish_alone([COSQA, *words])
        assert done.returncode == 0, done.stdout
    screenshots = Path(os.environ.get("COSQA_SCREENSHOTS", tmp_path / "screenshots")).absolute()
    with opened(tmp_path.as_uri(), screenshots) as pages:
        pages.visit("/cosqa-benchmarks/report.html")
        pages.see("stdlib-sample-agents")
        pages.screenshot("report")
        (board,) = tmp_path.glob("cosqa-benchmarks/**/leaderboard.html")
        pages.visit(f"/{board.relative_to(tmp_path)}")
        pages.see("NDCG@10")
        pages.screenshot("leaderboard", height=1000)
        pages.visit("/pages/index.html")
        pages.follow("def _is_leap(year):")
        pages.see("Verdict: 1")
        pages.screenshot("pair", height=1200)
        assert pages.complaints == []
