"""Hostile programs end as the tables say; neither box nor host suffers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sandbox.backends import make_sandbox
from sandbox.base import Sandbox
from tests.sandbox.attacks.expected import (
    FOUND_BY_SECOND_RUNS,
    NOT_PROMISED,
    PROGRAMS,
    SECOND_RUNS,
    TARGETS,
    is_allowed,
)
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
SECOND = "# The second run.\n"
# These run to the time limit, as endless_loop and ignore_all_signals do in `make test`.
ENDLESS = {
    "endless_call_into_c", "endless_regular_expression", "endless_sleep", "keep_the_guard_asleep",
    "message_that_never_comes", "starve_the_guard", "stop_oneself",
}  # fmt: skip
SETTINGS = ("core_pattern", "modprobe", "hostname", "randomize_va_space")


@pytest.fixture(scope="module")
async def arena(sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    """Return a sandbox with time enough on a busy machine."""
    made = make_sandbox(LIMITS.model_copy(update={"timeout_s": 20.0}))
    yield made
    await made.close()


@pytest.fixture(autouse=True, scope="module")
def _unharmed_host() -> Iterator[None]:
    """Fail where the host's settings are not what they were.

    What a program leaves in its box, `HEALTHY` and the next run find.
    """
    before = _settings()
    yield
    assert _settings() == before


def limit_s(expected: str) -> float | None:
    """Return the time-out of a run that is expected to end so: little for one without an end."""
    return 2.0 if "timeout" in expected else None


def _settings() -> dict[str, str]:
    files = [Path("/proc/sys/kernel", name) for name in SETTINGS]
    return {str(file): file.read_text() for file in files if file.exists()}


def test_every_hostile_file_has_its_line() -> None:
    tables = {
        "programs": PROGRAMS,
        "targets": TARGETS | NOT_PROMISED,
        "second_runs": SECOND_RUNS | FOUND_BY_SECOND_RUNS,
    }
    for folder, table in tables.items():
        assert {file.stem for file in (HERE / folder).glob("*.py")} == set(table)


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
        run = box.run(program, timeout_s=limit_s(PROGRAMS[name]))
        result = await asyncio.wait_for(run, 600)
        after = await box.run(HEALTHY)
    assert is_allowed(PROGRAMS[name], result.outcome, result.error_type), result
    assert (before.outcome, after.outcome) == ("passed", "passed"), (before, after)
    assert "\0" not in f"{result.message}{result.stdout}{result.stderr}"
    f"{result.message}{result.stdout}{result.stderr}".encode()  # nothing that no store takes


@pytest.mark.parametrize("name", TARGETS | NOT_PROMISED)
async def test_a_false_assert_passes_in_no_process_apart_and_beside_its_code_as_stated(
    arena: Sandbox, name: str
) -> None:
    expected = (TARGETS | NOT_PROMISED)[name]
    async with arena.box((HERE / "targets" / f"{name}.py").read_text()) as box:
        limit = limit_s(expected)
        apart = await asyncio.wait_for(box.run(EXPOSING, isolated=True, timeout_s=limit), 600)
        healthy = await box.run(HEALTHY, code=CODE)
        beside = await asyncio.wait_for(box.run(EXPOSING, timeout_s=limit), 600)
    assert apart.outcome != "passed", apart
    assert healthy.outcome == "passed", healthy
    assert is_allowed(expected, beside.outcome, beside.error_type), beside


def test_no_false_assert_may_pass_but_those_of_the_list() -> None:
    assert not [name for name, expected in TARGETS.items() if "passed" in expected]


@pytest.mark.parametrize("name", SECOND_RUNS | FOUND_BY_SECOND_RUNS)
async def test_a_second_run_finds_of_a_hostile_first_one_what_is_stated(
    arena: Sandbox, name: str
) -> None:
    expected = (SECOND_RUNS | FOUND_BY_SECOND_RUNS)[name]
    first, _, second = (HERE / "second_runs" / f"{name}.py").read_text().partition(SECOND)
    async with arena.box(CODE) as box:
        for program in (first, second):
            run = box.run(program, timeout_s=limit_s(expected))
            result = await asyncio.wait_for(run, 600)
    assert is_allowed(expected, result.outcome, result.error_type), result


def test_a_second_run_may_find_nothing_but_what_the_list_says() -> None:
    assert set(SECOND_RUNS.values()) == {"passed"}


async def test_code_beside_its_program_can_turn_up_the_counts_of_asserts_and_calls(
    arena: Sandbox,
) -> None:
    program = "import target\n\ndef test_it():\n    if target.double(2) > 4:\n        assert 1\n"
    async with arena.box((HERE / "targets" / "turns_the_counters.py").read_text()) as box:
        beside, apart = await box.run(program), await box.run(program, isolated=True)
    assert (apart.asserts_executed, apart.target_calls) == (0, 1), apart
    assert (beside.asserts_executed, beside.target_calls) > (0, 1), beside
