"""An engine is asked for each behaviour once, and one that it does not show stops the run.

Covers `kept`.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from infra.errors import EngineUnavailableError, SandboxError, UnknownNameError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.backends import backends, make_sandbox
from sandbox.base import CLOCK, Apart, Box, InstallResult, ShellResult
from sandbox.contract.behaviour import Behaviour, ends
from sandbox.contract.behaviours import BEHAVIOURS
from sandbox.contract.kept import CheckedSandbox, keep_findings, require_behaviours
from sandbox.contract.self_check import CheckResult
from tests.fakes.sandbox import PASSED, FakeSandbox

LAWS = [ends(f"law {number}", f"program {number}", "passed") for number in range(5)]
SETTINGS = SandboxSettings(backend="engine")
BROKEN = ExecutionResult(outcome="killed", message="it fell over")


class Machine:
    """An engine and what it was asked: the programs of all its boxes."""

    def __init__(self) -> None:
        self.name = "engine 1"
        self.breaks: set[str] = set()
        self.is_gone = False
        self.asked: list[str] = []

    async def run(
        self,
        program: str,
        *,
        hash_seed: int = 0,
        clock: float = CLOCK,
        code: str | None = None,
        timeout_s: float | None = None,
        apart: Apart = False,
    ) -> ExecutionResult:
        await asyncio.sleep(0.01)
        if self.is_gone:
            raise EngineUnavailableError("no engine answers")
        self.asked.append(program)
        return BROKEN if program in self.breaks else PASSED

    async def install(self, requirements: object) -> InstallResult:
        return InstallResult(ok=True)

    async def shell(self, line: str) -> ShellResult:
        return ShellResult(status=0)

    async def release(self) -> None:
        pass

    async def check(self) -> str:
        return self.name

    async def identity(self) -> str:
        return self.name

    @asynccontextmanager
    async def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AsyncIterator[Box]:
        yield self

    async def close(self) -> None:
        pass


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Return the engine of a backend, on a machine where nothing is kept yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = Machine()
    backends.register("engine")(lambda settings: made)
    yield made
    del backends._entries["engine"]


async def required(
    machine: Machine, settings: SandboxSettings = SETTINGS, laws: list[Behaviour] = LAWS
) -> list[str]:
    """Return the programs that a run's start had the engine asked for."""
    machine.asked.clear()
    await require_behaviours(machine, settings, behaviours=laws)
    return sorted(machine.asked)


def kept_in(folder: Path) -> list[Path]:
    """Return the files of kept results."""
    return [*folder.rglob("shown.json")]


ALL = sorted(law.program for law in LAWS)


async def test_an_engine_is_asked_once_and_anew_when_it_is_another(machine: Machine) -> None:
    assert await required(machine) == ALL
    assert await required(machine) == []
    machine.name = "engine 2"
    assert await required(machine) == ALL
    machine.name = "engine 1"
    assert await required(machine) == []


async def test_a_behaviour_that_is_new_is_asked_for_alone(machine: Machine) -> None:
    await required(machine, laws=LAWS[:3])
    assert await required(machine) == ["program 3", "program 4"]


async def test_what_an_engine_does_not_show_stops_each_run_and_is_named(machine: Machine) -> None:
    machine.breaks = {"program 1", "program 3"}
    for _ in range(2):
        with pytest.raises(SandboxError) as caught:
            await required(machine)
        for word in ("law 1: ", "law 3: ", "it fell over", "accept_without", "nothing is run"):
            assert word in str(caught.value)
        assert "law 2" not in str(caught.value)
    assert set(machine.asked) == machine.breaks, "the others are known"
    machine.breaks.clear()
    assert await required(machine) == ["program 1", "program 3"]
    assert await required(machine) == []


async def test_what_the_settings_do_without_is_not_asked_for(machine: Machine) -> None:
    name = BEHAVIOURS[0].name
    laws = [ends(name, "broken", "passed"), *LAWS]
    machine.breaks = {"broken"}
    accepting = SETTINGS.model_copy(update={"accept_without": ("swap", name)})
    assert await required(machine, accepting, laws) == ALL
    with pytest.raises(SandboxError, match=name):
        await required(machine, laws=laws)


async def test_a_machine_that_was_too_busy_once_is_asked_again(machine: Machine) -> None:
    class Busy(Machine):
        async def run(self, program: str, **_: object) -> ExecutionResult:
            machine.asked.append(program)
            return BROKEN if machine.asked.count(program) == 1 else PASSED

    busy = Busy()
    backends._entries["engine"] = lambda settings: busy
    assert await required(machine) == sorted([*ALL, *ALL])
    assert await required(machine) == []


async def test_of_two_runs_at_once_one_asks_and_the_other_waits(machine: Machine) -> None:
    said: list[str] = []
    await asyncio.gather(
        *(require_behaviours(machine, SETTINGS, said.append, LAWS) for _ in range(3))
    )
    assert sorted(machine.asked) == ALL
    assert sum("waiting" in message for message in said) == 2


async def test_a_run_that_asks_says_what_it_does_and_one_that_knows_is_silent(
    machine: Machine,
) -> None:
    said: list[str] = []
    await require_behaviours(machine, SETTINGS, said.append, LAWS)
    assert "5 behaviours" in said[0]
    assert "cosqa sandbox check" in said[0]
    assert "all 5" in said[-1]
    said.clear()
    await require_behaviours(machine, SETTINGS, said.append, LAWS)
    assert said == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"{}", b"[[1]]", b"[" * 100_000],
    ids=["empty", "cut", "no text", "no list", "no names", "deep"],
)
async def test_a_kept_result_that_is_damaged_is_none(
    machine: Machine, tmp_path: Path, content: bytes
) -> None:
    await required(machine)
    [file] = kept_in(tmp_path)
    file.write_bytes(content)
    assert await required(machine) == ALL


async def test_an_engine_that_is_gone_is_its_own_error_and_nothing_is_kept(
    machine: Machine, tmp_path: Path
) -> None:
    machine.is_gone = True
    with pytest.raises(EngineUnavailableError, match="no engine answers"):
        await required(machine)
    assert kept_in(tmp_path) == []


async def test_what_the_check_has_found_takes_the_place_of_what_was_kept(machine: Machine) -> None:
    await required(machine)
    findings = [CheckResult(law.name, law.name != "law 2", "") for law in LAWS]
    await keep_findings(machine, findings)
    assert await required(machine) == ["program 2"]


async def test_a_backend_without_an_engine_is_not_asked(machine: Machine) -> None:
    fake = FakeSandbox(lambda program, installed: BROKEN)
    await require_behaviours(fake, SETTINGS)
    assert fake.made == 0


async def test_no_box_is_given_out_before_the_engine_has_shown_all(machine: Machine) -> None:
    machine.breaks = {"program 0"}
    checked = CheckedSandbox(machine, SETTINGS, LAWS)
    for _ in range(2):
        with pytest.raises(SandboxError, match="law 0"):
            async with checked.box(""):
                raise AssertionError("a box was given out")
    machine.breaks.clear()
    machine.asked.clear()

    async def run(program: str) -> None:
        async with checked.box("") as box:
            await box.run(program)

    await asyncio.gather(*(run("pair") for _ in range(3)))
    assert sorted(machine.asked) == ["pair", "pair", "pair", "program 0"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("swapp", "swap"),
        ("temporary files are limited in sise", "temporary files are limited in size"),
        ("no such thing", ""),
    ],
)
def test_a_name_of_no_limit_and_no_behaviour_is_refused_with_the_nearest(
    name: str, meant: str
) -> None:
    with pytest.raises(UnknownNameError) as caught:
        make_sandbox(SandboxSettings(accept_without=("swap", name)))
    assert repr(name) in str(caught.value)
    assert (f"did you mean {meant!r}" if meant else "the limits are memory") in str(caught.value)


def test_each_limit_and_behaviour_may_be_done_without() -> None:
    names = ("memory", "swap", "processes", "cpus", "seccomp", *(one.name for one in BEHAVIOURS))
    make_sandbox(SandboxSettings(accept_without=names))
