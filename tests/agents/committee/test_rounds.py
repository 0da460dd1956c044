"""Algorithm 1's repairs, line by line, for all ways through them, with the number of rounds.

Covers ``tester.py``, and `agents.roles.fix` with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agents.committee import tester as testers
from agents.committee.configurations import CONFIGURATIONS
from agents.committee.trace import Trace
from agents.evidence import Draft
from agents.roles.fix import CommandFixer, run_commands
from infra.languages.python import Python
from infra.records import ExecutionResult
from sandbox.base import InstallResult, ShellResult
from tests.agents.conftest import Bench
from tests.fakes.llm_server import ScriptedServer
from tests.fakes.sandbox import FAILED, PASSED, FakeBox, FakeSandbox, lacks, raised

PROGRAM = "from target import backwards\nassert backwards('ab') == 'ba'"
TIMED_OUT = ExecutionResult(outcome="timeout", message="stopped")


class LoggedFixer(ScriptedServer):
    """A model whose only agent is the fixer; each of its replies is logged."""

    def __init__(self, script: Sequence[Any], replies: list[str], happenings: list[str]) -> None:
        super().__init__(script)
        self._replies = list(replies)
        self._happenings = happenings

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        assert call["role"] == "command_fixer"
        commands = self._replies.pop(0)
        self._happenings.append(f"fix: {commands}")
        verdict = "irreparable" if commands == "irreparable" else "repairable"
        text = "" if verdict == "irreparable" else commands.replace(" ; ", "\n")
        return {"reply": {"diagnosis": "d", "verdict": verdict, "commands": text}}


class LoggedSandbox(FakeSandbox):
    """Boxes whose programs end as given, one after the other; what is done is logged."""

    def __init__(
        self, results: Sequence[ExecutionResult], log: list[str], *installable: str
    ) -> None:
        super().__init__(lambda program, installed: PASSED, installable)
        self._results = list(results)
        self._log = log

    def made_box(self) -> FakeBox:
        return LoggedBox(self._results, self._log, self._installable)


class LoggedBox(FakeBox):
    """Such a box."""

    def __init__(
        self, results: list[ExecutionResult], log: list[str], installable: frozenset[str]
    ) -> None:
        super().__init__(self._next, installable)
        self._results = results
        self._log = log

    def _next(self, program: str, installed: frozenset[str]) -> ExecutionResult:
        assert program == PROGRAM, "the same program is executed each time"
        result = self._results.pop(0) if len(self._results) > 1 else self._results[0]
        self._log.append(f"execute: {result.outcome}")
        return result

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        result = await super().install(requirements)
        self._log.append(f"install: {' '.join(requirements)} {'done' if result.ok else 'refused'}")
        return result

    async def execute(self, command: str) -> ShellResult:
        self._log.append(f"run: {command}")
        return await super().execute(command)


WAYS: dict[str, tuple[int, list[ExecutionResult], list[str], list[str], list[str]]] = {
    "no error": (2, [PASSED], [], [], ["execute: passed"]),
    "a failing assertion is no error": (2, [FAILED], [], [], ["execute: assertion_failed"]),
    "stage 1 suffices": (
        2, [lacks("yaml"), PASSED], [], ["PyYAML"],
        ["execute: import_error", "install: PyYAML done", "execute: passed"],
    ),
    "stage 1 for one module after the other, outside the rounds": (
        0, [lacks("yaml"), lacks("six"), PASSED], [], ["PyYAML", "six"],
        ["execute: import_error", "install: PyYAML done",
         "execute: import_error", "install: six done", "execute: passed"],
    ),
    "stage 1 fails and stage 2 mends": (
        2, [lacks("yaml"), PASSED], ["pip install ruamel"], ["ruamel"],
        ["execute: import_error", "install: PyYAML refused",
         "fix: pip install ruamel", "install: ruamel done", "execute: passed"],
    ),
    "a module that is still missing is not installed directly again": (
        0, [lacks("yaml"), lacks("yaml")], ["touch a"], ["PyYAML"],
        ["execute: import_error", "install: PyYAML done", "execute: import_error",
         "fix: touch a", "run: touch a", "execute: import_error"],
    ),
    "stage 1 again for what stage 2 brings to light": (
        0, [raised(), lacks("six"), PASSED], ["touch a"], ["six"],
        ["execute: raised", "fix: touch a", "run: touch a", "execute: import_error",
         "install: six done", "execute: passed"],
    ),
    "two commands, of which one fails": (
        2, [raised(), PASSED], ["make fail ; touch a"], [],
        ["execute: raised", "fix: make fail ; touch a", "run: make fail", "run: touch a",
         "execute: passed"],
    ),
    "an error becomes another and then a failing assertion": (
        2, [raised(), TIMED_OUT, FAILED], ["touch a", "touch b"], [],
        ["execute: raised", "fix: touch a", "run: touch a", "execute: timeout",
         "fix: touch b", "run: touch b", "execute: assertion_failed"],
    ),
    "irreparable at once": (
        2, [raised()], ["irreparable"], [], ["execute: raised", "fix: irreparable"],
    ),
    "irreparable after a round": (
        2, [raised()], ["touch a", "irreparable"], [],
        ["execute: raised", "fix: touch a", "run: touch a", "execute: raised", "fix: irreparable"],
    ),
    "no command is as good as irreparable": (2, [raised()], [""], [], ["execute: raised", "fix: "]),
    "max_try_time 0 gives one round": (
        0, [raised()], ["touch a"], [],
        ["execute: raised", "fix: touch a", "run: touch a", "execute: raised"],
    ),
    "max_try_time 2 gives three rounds": (
        2, [raised()], ["touch a", "touch b", "touch c"], [],
        ["execute: raised",
         "fix: touch a", "run: touch a", "execute: raised",
         "fix: touch b", "run: touch b", "execute: raised",
         "fix: touch c", "run: touch c", "execute: raised"],
    ),
    "what may not be run is answered to the fixer": (
        0, [raised()], ["pip install -r all.txt"], [],
        ["execute: raised", "fix: pip install -r all.txt", "execute: raised"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_the_repairs_of_a_program_go_as_algorithm_1_says(bench: Bench, way: str) -> None:
    max_try_time, results, replies, installable, expected = WAYS[way]
    log: list[str] = []
    bench.serve((), LoggedFixer, replies=replies, happenings=log)
    sandbox = LoggedSandbox(results, log, *installable)
    tester = testers.Tester(sandbox, Python(), CONFIGURATIONS["paper"], max_try_time, None)
    trace = Trace(bench.model())
    (attempt,) = await tester.test(bench.pair, Draft(reading="r", program=PROGRAM), trace)
    assert log == expected
    rounds = sum(line.startswith("fix: ") for line in log)
    assert rounds <= max_try_time + 1
    assert [run.result.outcome for run in trace.executions] == [
        line.removeprefix("execute: ") for line in log if line.startswith("execute: ")
    ]
    logged = [step for run in trace.executions for step in run.repairs]
    assert logged == list(attempt.draft.repairs)[: len(logged)]


async def test_the_fixer_sees_program_and_error_and_neither_query_nor_code(bench: Bench) -> None:
    bench.serve((), LoggedFixer, replies=["touch a"], happenings=[])
    draft = Draft(reading="the reading", program=PROGRAM).with_repair(
        "pip install x", "no x", ok=False
    )
    result = raised("NameError", "name 'y' is not defined").model_copy(update={"stderr": "trace"})
    assert await CommandFixer(bench.model()).propose(draft, result) == ("touch a",)
    said = str(bench.server.calls[0]["messages"])
    for known in ("backwards('ab')", "name 'y' is not defined", "trace", "$ pip install x", "no x"):
        assert known in said
    for hidden in (bench.pair.query.text, "text[::-1]", "the reading"):
        assert hidden not in said


async def test_a_round_has_a_bounded_number_of_commands() -> None:
    box = FakeBox(lambda program, installed: PASSED, frozenset())
    commands = tuple(f"touch {number}" for number in range(12))
    draft = await run_commands(Draft(reading="r", program=PROGRAM), commands, box)
    assert [step.ok for step in draft.repairs] == [True] * 10 + [False] * 2
    assert len(box.installed) == 10
