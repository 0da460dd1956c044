"""The Docker backend shows every behaviour, and the check tells one that does not.

The gate has them shown by ``cosqa sandbox check`` (`tests/flows/cli/test_sandbox.py`); here each is
a test of its own.
Covers ``self_check``, ``behaviour``, ``behaviours`` and `sandbox.contract.go`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from infra.errors import BoxLostError, EngineUnavailableError
from infra.records import ExecutionResult
from sandbox.base import CLOCK, Apart, Box, InstallResult, Sandbox, ShellResult
from sandbox.contract.behaviour import Behaviour
from sandbox.contract.behaviours import BEHAVIOURS
from sandbox.contract.self_check import (
    OF_ALL_LANGUAGES,
    CheckResult,
    core_dump_handler,
    self_check,
)


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("behaviour", OF_ALL_LANGUAGES, ids=lambda behaviour: behaviour.name)
async def test_every_box_shows(sandbox: Sandbox, behaviour: Behaviour) -> None:
    (finding,) = [finding async for finding in self_check(sandbox, [behaviour])]
    assert finding.ok, finding.detail


class Credulous:
    """A backend, and a box, for which every program has passed."""

    async def install(self, requirements: object) -> InstallResult:
        return InstallResult(ok=True)

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
        return ExecutionResult(outcome="passed")

    async def shell(self, line: str) -> ShellResult:
        return ShellResult(status=0)

    async def release(self) -> None:
        pass

    async def check(self) -> str:
        return "credulous"

    @asynccontextmanager
    async def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AsyncIterator[Box]:
        yield self

    async def close(self) -> None:
        pass


async def test_a_backend_that_believes_everything_is_found_out() -> None:
    findings = [finding async for finding in self_check(Credulous())]
    assert len(findings) == len(BEHAVIOURS)
    wrong = [finding for finding in findings if not finding.ok]
    assert len(wrong) > len(findings) / 2
    assert all(isinstance(finding, CheckResult) and finding.detail for finding in wrong)


class Fragile(Credulous):
    """A backend whose boxes are lost at each program that ends its process or sends a signal."""

    async def run(self, program: str, **_: Any) -> ExecutionResult:
        if "os._exit" in program or "os.kill" in program:
            raise BoxLostError("the box vanished in mid-run")
        return ExecutionResult(outcome="passed")


class Absent(Credulous):
    """A backend whose engine has gone."""

    async def run(self, program: str, **_: Any) -> ExecutionResult:
        raise EngineUnavailableError("no engine answers")


async def test_a_box_that_is_lost_is_a_finding_and_the_rest_is_checked() -> None:
    findings = [finding async for finding in self_check(Fragile())]
    assert len(findings) == len(BEHAVIOURS)
    lost = [finding for finding in findings if "vanished" in finding.detail]
    assert len(lost) > 2
    assert not any(finding.ok for finding in lost)


async def test_an_engine_that_is_gone_is_no_finding() -> None:
    with pytest.raises(EngineUnavailableError):
        _ = [finding async for finding in self_check(Absent())]


def test_there_are_at_least_forty_behaviours_of_different_names() -> None:
    assert len({behaviour.name for behaviour in BEHAVIOURS}) == len(BEHAVIOURS) >= 40
    assert len({behaviour.name for behaviour in OF_ALL_LANGUAGES}) == len(OF_ALL_LANGUAGES)
    for language in ("javascript", "go"):
        assert sum(one.language == language for one in OF_ALL_LANGUAGES) >= 30


class Printing(Credulous):
    """A backend whose programs print one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def run(self, program: str, **_: object) -> ExecutionResult:
        return ExecutionResult(outcome="passed", stdout=self._text)


@pytest.mark.parametrize(
    ("pattern", "handler"),
    [("core\n", ""), ("", ""), ("|/usr/lib/handler %P\n\n", "/usr/lib/handler %P")],
)
async def test_a_handler_of_core_dumps_is_told(pattern: str, handler: str) -> None:
    assert await core_dump_handler(Printing(pattern)) == handler
