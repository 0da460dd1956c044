"""Boxes must show all behaviours before one is given out, and an engine is asked for each once.

Covers ``check`` and the tables of behaviours.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from infra.errors import BoxLostError, EngineUnavailableError, SandboxError, UnknownNameError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.backends import backends, make_sandbox
from sandbox.base import CLOCK, Box, InstallResult, Isolation, Sandbox, ShellResult
from sandbox.contract import BEHAVIOURS, BEHAVIOURS_OF_ALL_LANGUAGES, Behaviour, check
from sandbox.contract.check import CheckedSandbox, check_engine, require_behaviours, self_check
from tests.fakes.sandbox import PASSED, FakeSandbox

LAWS = [
    Behaviour(f"law {number}", f"program {number}", {"outcome": "passed"}) for number in range(5)
]
ALL = sorted(law.program for law in LAWS)
SETTINGS = SandboxSettings(backend="engine")
BROKEN = ExecutionResult(outcome="killed", message="it fell over")


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.parametrize(
    "behaviour", BEHAVIOURS_OF_ALL_LANGUAGES, ids=lambda behaviour: behaviour.name
)
async def test_every_box_shows(sandbox: Sandbox, behaviour: Behaviour) -> None:
    (result,) = await self_check(sandbox, [behaviour])
    assert result.ok, result.detail


class Machine:
    """An engine, its boxes, and the programs that it was asked to run."""

    def __init__(self, answer: Callable[[str], ExecutionResult] = lambda _: PASSED) -> None:
        self.name = "engine 1"
        self.breaks: set[str] = set()
        self.asked: list[str] = []
        self.answer = answer

    async def run(
        self,
        program: str,
        *,
        hash_seed: int = 0,
        clock: float = CLOCK,
        code: str | None = None,
        timeout_s: float | None = None,
        isolated: Isolation = False,
    ) -> ExecutionResult:
        await asyncio.sleep(0)
        self.asked.append(program)
        return BROKEN if program in self.breaks else self.answer(program)

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


def lost(program: str) -> ExecutionResult:
    if "os._exit" in program or "os.kill" in program:
        raise BoxLostError("the box vanished in mid-run")
    return PASSED


def gone(program: str) -> ExecutionResult:
    raise EngineUnavailableError("no engine answers")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Return the engine of a backend, on a machine where nothing is persisted yet."""
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


def persisted_in(folder: Path) -> list[Path]:
    return [*folder.rglob("shown.json")]


async def test_a_backend_that_believes_everything_is_found_out() -> None:
    results = await self_check(Machine(lambda _: ExecutionResult(outcome="passed")))
    assert [result.name for result in results] == [each.name for each in BEHAVIOURS]
    wrong = [result for result in results if not result.ok]
    assert len(wrong) > len(results) / 2
    assert all(result.detail for result in wrong)


async def test_a_box_that_is_lost_is_a_result_and_the_rest_is_checked() -> None:
    results = await self_check(Machine(lost))
    assert len(results) == len(BEHAVIOURS)
    vanished = [result for result in results if "vanished" in result.detail]
    assert len(vanished) > 2
    assert not any(result.ok for result in vanished)


def test_there_are_enough_behaviours_of_different_names() -> None:
    names = {behaviour.name for behaviour in BEHAVIOURS_OF_ALL_LANGUAGES}
    assert len(names) == len(BEHAVIOURS_OF_ALL_LANGUAGES)
    for language, least in (("python", 60), ("javascript", 30), ("go", 30)):
        assert sum(one.language == language for one in BEHAVIOURS_OF_ALL_LANGUAGES) >= least


async def test_an_engine_is_asked_once_and_again_when_it_is_another(machine: Machine) -> None:
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
    laws = [Behaviour(name, "broken", {"outcome": "passed"}), *LAWS]
    machine.breaks = {"broken"}
    accepting = SETTINGS.model_copy(update={"accept_without": ("swap", name)})
    assert await required(machine, accepting, laws) == ALL
    with pytest.raises(SandboxError, match=name):
        await required(machine, laws=laws)


async def test_a_machine_that_was_too_busy_once_is_asked_again(machine: Machine) -> None:
    machine.answer = lambda program: BROKEN if machine.asked.count(program) == 1 else PASSED
    assert await required(machine) == sorted([*ALL, *ALL])
    assert await required(machine) == []


async def test_runs_at_once_ask_once_and_say_so(machine: Machine) -> None:
    logged: list[str] = []
    await asyncio.gather(
        *(require_behaviours(machine, SETTINGS, logged.append, LAWS) for _ in range(3))
    )
    assert sorted(machine.asked) == ALL
    [message] = logged
    assert "5 behaviours" in message


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"{}", b"[[1]]"], ids=["empty", "no text", "no list", "no names"]
)
async def test_a_persisted_result_that_is_damaged_is_none(
    machine: Machine, tmp_path: Path, content: bytes
) -> None:
    await required(machine)
    [file] = persisted_in(tmp_path)
    file.write_bytes(content)
    assert await required(machine) == ALL


def test_results_are_of_the_harness_of_any_language_and_of_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_SOURCES", tmp_path)
    harness, page = tmp_path / "harness.rb", tmp_path / "README.md"
    found = []
    for text, about in (("1", ""), ("2", ""), ("2", "more")):
        harness.write_text(text)
        page.write_text(about)
        found.append(check._sources_digest.__wrapped__())
    assert found[0] != found[1] == found[2]


async def test_an_engine_that_is_gone_is_its_own_error_and_nothing_is_persisted(
    machine: Machine, tmp_path: Path
) -> None:
    machine.answer = gone
    with pytest.raises(EngineUnavailableError, match="no engine answers"):
        await required(machine)
    assert persisted_in(tmp_path) == []


async def test_a_check_takes_the_place_of_what_was_persisted(machine: Machine) -> None:
    await required(machine)
    machine.breaks = {"program 2"}
    results = await check_engine(SETTINGS, LAWS)
    assert [result.name for result in results if not result.ok] == ["law 2"]
    machine.breaks.clear()
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
