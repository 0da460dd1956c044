"""Without an engine, tests that need one are skipped in peace, unless an engine is demanded."""

import os
import subprocess
import sys

NOWHERE = "unix:///nonexistent/docker.sock"


TESTS = (
    "tests/sandbox/backends/docker/test_leaks.py",
    "tests/sandbox/backends/docker/test_installers.py",
    "tests/flows/cli/test_sandbox.py",
)


def test_without_an_engine_nothing_fails_and_something_is_skipped() -> None:
    outcome = run(*TESTS, COSQA_REQUIRE_DOCKER="0")
    assert outcome.returncode == 0, outcome.stdout[-3000:]
    assert "skipped" in outcome.stdout
    assert "warning" not in outcome.stdout


def test_where_an_engine_is_demanded_its_absence_is_a_failure() -> None:
    outcome = run("tests/sandbox/backends/docker/test_installers.py", COSQA_REQUIRE_DOCKER="1")
    assert outcome.returncode == 1
    assert "no Docker engine answers" in outcome.stdout


def run(*tests: str, **variables: str) -> subprocess.CompletedProcess[str]:
    options = ["-q", "-m", "docker", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {**os.environ, "DOCKER_HOST": NOWHERE, **variables}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
