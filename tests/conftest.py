"""What all tests share."""

import atexit
import functools
import gc
import os
import re
import signal
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import certifi
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from xdist.scheduler import LoadFileScheduling

import infra.settings
from tests.browser import CHROMIUM
from tests.real_sandbox import ask_engine_once, engine_problem

for _size in ("COLUMNS", "LINES"):  # of the terminal, which the runner's processes are told
    os.environ.pop(_size, None)

# One thread for sums: several spin while they wait for each other, on cores of other runners.
os.environ["OMP_NUM_THREADS"] = "1"

# Each of Prefect's and httpx's clients loads all certificates, in 19 ms of a core, and no test asks
# a server that has one.
_CERTIFICATE = Path(sys.prefix) / "one-certificate.pem"
if not _CERTIFICATE.exists():
    _first = Path(certifi.where()).read_text("utf-8").strip().partition("\n\n")[0]
    _partial = _CERTIFICATE.with_suffix(f".{os.getpid()}")
    _partial.write_text(_first, "utf-8")
    _partial.rename(_CERTIFICATE)
os.environ["SSL_CERT_FILE"] = str(_CERTIFICATE)

# A job in a shell's background ignores Ctrl-C, and so would the commands that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_own_config_file = infra.settings._config_file


def _config_file() -> Path:
    """Return a test's settings file; that of the checkout, which `make run` leaves, is none."""
    file = _own_config_file()
    is_of_checkout = file.absolute() == Path(__file__).parents[1] / "cosqa.toml"
    return Path(os.devnull) if is_of_checkout else file


infra.settings._config_file = _config_file

# No test is timed, since others run beside it, and each run draws the same examples: those of the
# gate, or of a night.
hypothesis_settings.register_profile(
    "cosqa", deadline=None, derandomize="COSQA_NIGHT" not in os.environ, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
hypothesis_settings.load_profile("cosqa")


@atexit.register  # the first to be registered is the last to run
def _keep_the_summary_last() -> None:
    """Drop what DuckDB's binding prints on finalization about objects that others still hold."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@pytest.fixture(autouse=True)
def _encoders_as_registered() -> Iterator[None]:
    """Let no test's checkpoints stand in for encoders in another test."""
    yield
    if loaded := sys.modules.get("tasks.encoders"):
        loaded.encoders.substitute({})


@pytest.fixture(autouse=True)
def _tests_found_by_children() -> Iterator[None]:
    """Let no command that ran in a test's own process hide the tests' modules from children."""
    yield
    os.environ.pop("PYTHONSAFEPATH", None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes longest first: none begins when the other runners are at the end."""
    seconds: dict[str, float] = defaultdict(float)
    for item in items:
        seconds[_scope(item.nodeid)] += _seconds(item)
    items.sort(key=lambda item: -seconds[_scope(item.nodeid)])


def pytest_collection_finish() -> None:
    """Leave modules and tests, which stay, out of all later collections of garbage."""
    gc.collect()
    gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave what needs a browser to the night, since the gate installs none."""
    if item.get_closest_marker("browser"):
        item.add_marker("nightly")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have runners take files, and two of them those that run flows."""
    made = LoadFileScheduling(config, log)
    made._split_scope = _scope
    return made


def _scope(nodeid: str) -> str:
    """Return what one runner takes as a whole: a file, or half of those that run flows.

    These share their runner's Prefect server, its process of commands and Ray. Files whose tests
    are marked by their seconds start and kill processes of their own for minutes, and stay apart.
    """
    file = nodeid.partition("::")[0]
    if file.startswith("tests/flows/") and _shares_a_server(file):
        return f"flows {crc32(file.encode()) % 2}"
    return file


@functools.cache
def _shares_a_server(file: str) -> bool:
    text = (Path(__file__).parent.parent / file).read_text("utf-8")
    return bool(re.search(r'prefect_server(: str|"\))', text)) and "mark.slow(" not in text


def _seconds(item: pytest.Item) -> float:
    """Return about how long a test takes, by its marks."""
    if slow := item.get_closest_marker("slow"):
        return float(slow.args[0]) if slow.args else 15.0
    return 2.0 if item.get_closest_marker("exhaustive") else 0.1


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a browser or an engine that is not there; fail if the engine is demanded."""
    if item.get_closest_marker("browser") and CHROMIUM is None:
        pytest.skip("no Chromium on this machine: run `make browser`")
    if item.get_closest_marker("docker") and (problem := engine_problem()):
        if os.environ.get("COSQA_REQUIRE_DOCKER") == "1":
            pytest.fail(problem)
        pytest.skip(problem)
    if item.get_closest_marker("docker") and not item.nodeid.startswith("tests/sandbox/"):
        ask_engine_once()  # as commands do, which are given a time


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    """Escape lone surrogates in what a test said or wrote: runners cannot send them."""
    return _escaped((yield))


def _escaped(data: object) -> object:
    if isinstance(data, str):
        return data.encode(errors="backslashreplace").decode()
    if isinstance(data, dict):
        return {_escaped(key): _escaped(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(map(_escaped, data))
    return data
