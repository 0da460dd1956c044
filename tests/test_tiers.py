"""Laws of the tiers, their seeds and what a runner takes, which `tests/README.md` explains."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import _scope
from tests.fuzzing import tonight

ROOT = Path(__file__).parent.parent


def test_what_needs_a_browser_is_left_to_the_night() -> None:
    file = "tests/tasks/reports/test_browser.py"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "nightly", file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "test_hostile_pages_run_nothing" in done.stdout, done.stdout
    assert "deselected" not in done.stdout


def test_nights_have_seeds_of_their_own_which_one_variable_repeats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_NIGHT", "20782")
    first = tonight(50)
    monkeypatch.setenv("COSQA_NIGHT", "20783")
    assert not {*first} & {*tonight(50)}
    monkeypatch.setenv("COSQA_NIGHT", "20782")
    assert tonight(50) == first


@pytest.mark.parametrize(
    ("file", "scope"),
    [
        ("tests/flows/test_leaderboard.py", "flows 1"),
        ("tests/flows/test_parameters.py", "flows 1"),
        ("tests/flows/test_stages.py", "flows 0"),
        ("tests/flows/cli/test_commands.py", "tests/flows/cli/test_commands.py"),
        ("tests/flows/test_resume.py", "tests/flows/test_resume.py"),
        ("tests/test_tiers.py", "tests/test_tiers.py"),
    ],
)
def test_two_runners_take_all_flows_but_the_long_ones(file: str, scope: str) -> None:
    assert _scope(f"{file}::test[a::b]") == scope
