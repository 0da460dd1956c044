"""What all tests share."""

import atexit
import os
from collections.abc import Generator

import pytest

from tests.real_sandbox import engine_problem

for _size in ("COLUMNS", "LINES"):  # of the terminal, which the runner's processes are told
    os.environ.pop(_size, None)
# Ray runs its workers at nice 15: beside two other processes of tests they would hardly run.
os.environ.setdefault("RAY_worker_niceness", "0")


@atexit.register  # the first to be registered is the last to run
def _keep_the_summary_last() -> None:
    """Drop what DuckDB's binding prints on finalization about objects that others still hold."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a Docker engine where there is none, or fail where one is demanded."""
    if item.get_closest_marker("docker") and (problem := engine_problem()):
        if os.environ.get("COSQA_REQUIRE_DOCKER") == "1":
            pytest.fail(problem)
        pytest.skip(problem)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates in what a test wrote: the runner's processes cannot send them."""
    report = yield
    report.sections = [
        (title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections
    ]
    return report
