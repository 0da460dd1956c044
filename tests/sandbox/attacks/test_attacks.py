"""Hostile programs end as the tables say; neither box nor host suffers."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from sandbox.backends import make_sandbox
from sandbox.base import Sandbox
from tests.sandbox.attacks.expected import PROGRAMS, TARGETS, is_allowed
from tests.sandbox.conftest import CODE, LIMITS

pytestmark = pytest.mark.docker

HERE = Path(__file__).parent
HEALTHY = """
import os
from target import double

def test_it():
    assert double(2) == 4
    assert os.listdir("/tmp") == os.listdir("/dev/shm") == []
    assert {int(name) for name in os.listdir("/proc") if name.isdigit()} == {1, os.getpid()}
    assert double.__code__.co_filename == "target.py"
"""
EXPOSING = "import target\n\ndef test_it():\n    assert target.double(2) == 5\n"
# These run to the time limit, as endless_loop and ignore_all_signals do in `make test`.
ENDLESS = {
    "endless_call_into_c", "endless_regular_expression", "endless_sleep", "interrupt_the_harness",
    "message_that_never_comes", "stop_oneself",
}  # fmt: skip
SETTINGS = ("core_pattern", "modprobe", "hostname", "randomize_va_space")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def arena(sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    """Return a sandbox with less time for programs that never end."""
    made = make_sandbox(LIMITS.model_copy(update={"timeout_s": 2.0}))
    yield made
    await made.close()


@pytest.fixture(autouse=True, scope="module")
def _unharmed_host() -> Iterator[None]:
    """Fail where the host's settings, clock, disk or processes are not what they were."""
    before, clock, free = _settings(), time.time() - time.monotonic(), shutil.disk_usage("/").free
    yield
    assert _settings() == before
    assert abs(time.time() - time.monotonic() - clock) < 5
    assert free - shutil.disk_usage("/").free < 2 * 2**30
    assert os.getloadavg()[0] < 200


def _settings() -> dict[str, str]:
    files = [Path("/proc/sys/kernel", name) for name in SETTINGS]
    files += [Path("/etc/passwd"), Path("/etc/hosts")]
    return {str(file): file.read_text() for file in files if file.exists()}


def test_every_hostile_file_has_its_line() -> None:
    for folder, table in (("programs", PROGRAMS), ("targets", TARGETS)):
        assert {file.stem for file in (HERE / folder).glob("*.py")} == set(table)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.exhaustive if name in ENDLESS else ())
        for name in PROGRAMS
    ],
)
async def test_a_hostile_program_ends_as_stated_and_harms_nothing(
    arena: Sandbox, name: str
) -> None:
    program = (HERE / "programs" / f"{name}.py").read_text()
    async with arena.box(CODE) as box:
        before = await box.run(HEALTHY)
        result = await asyncio.wait_for(box.run(program), 30)
        after = await box.run(HEALTHY)
    assert is_allowed(PROGRAMS[name], result.outcome, result.error_type), result
    assert (before.outcome, after.outcome) == ("passed", "passed"), (before, after)
    assert "\0" not in f"{result.message}{result.stdout}{result.stderr}"
    f"{result.message}{result.stdout}{result.stderr}".encode()  # nothing that no store takes


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", TARGETS)
async def test_hostile_code_under_test_cannot_make_a_false_assert_pass(
    arena: Sandbox, name: str
) -> None:
    async with arena.box((HERE / "targets" / f"{name}.py").read_text()) as box:
        result = await asyncio.wait_for(box.run(EXPOSING), 30)
    assert is_allowed(TARGETS[name], result.outcome, result.error_type), result
