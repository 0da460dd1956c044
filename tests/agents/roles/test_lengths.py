"""A reply or an output of any length fits into the records that are made of it."""

import pytest

from agents.evidence import Draft
from agents.roles.fix import install, run_commands
from agents.roles.read import Simulator
from infra.records import Pair
from sandbox.base import InstallResult, ShellResult
from tests.agents.conftest import Bench, rule
from tests.fakes.sandbox import PASSED, FakeBox

LENGTHS = (0, 3_999, 4_000, 4_001, 10_001, 60_000)
DRAFT = Draft(reading="r", program="import yaml")


class TalkativeBox(FakeBox):
    """A box whose commands and installations print so many characters, and their end."""

    def __init__(self, length: int) -> None:
        super().__init__(lambda program, installed: PASSED, frozenset())
        self._printed = "x" * length + "END"

    async def install(self, requirements: object) -> InstallResult:
        return InstallResult(ok=False, message=self._printed)

    async def shell(self, line: str) -> ShellResult:
        return ShellResult(status=1, output=self._printed)


@pytest.mark.parametrize("length", LENGTHS)
async def test_a_prediction_of_any_length_is_a_result(
    bench: Bench, pair: Pair, length: int
) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": "raised", "message": "m" * length}})])
    result = await Simulator(bench.model()).run(pair, DRAFT)
    assert result.message == "m" * min(length, 10_000)


@pytest.mark.parametrize("length", LENGTHS)
async def test_an_output_of_any_length_is_a_step_that_keeps_its_end(length: int) -> None:
    box = TalkativeBox(length)
    draft = await run_commands(DRAFT, ("true", "c" * length), box)
    failed = await install("PyYAML", draft, box)
    assert len(failed.repairs) == 3
    for step in failed.repairs:
        assert step.output.endswith("END")
        assert len(step.output) == min(length + 3, 4_000)
