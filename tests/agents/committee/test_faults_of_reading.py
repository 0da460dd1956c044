"""What becomes of programs under the gates, with scripted replies and real runs.

The numbers are those of a list of faults that readers found once.

Covers `agents.committee.tester`, `agents.roles.judge`.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from agents.committee import tester as testers
from agents.committee.configurations import CONFIGURATIONS, Configuration
from agents.committee.trace import Trace
from agents.evidence import Attempt, Draft, RunEvidence, RunOutcome
from agents.gates import Gate
from agents.gates.outcomes import PythonRules
from agents.gates.validator import OracleValidator
from agents.llm.prompt import system_text
from agents.roles.judge import is_confirmed
from infra.languages.python import Python
from infra.records import Code, ExecutionResult, Pair, Query
from infra.settings import GateSettings
from sandbox.base import Sandbox
from tests.agents.conftest import ANSWERS, GAVE_UP, Bench, repair, rule, written, written_blind
from tests.agents.gates.test_validator import InTurn
from tests.fakes.sandbox import FakeSandbox

SPEC = CONFIGURATIONS["spec"]
real = pytest.mark.docker


def pair_of(code: str, query: str = "a query") -> Pair:
    return Pair(query=Query.of(query), code=Code.of(code))


def fixes(*actions: tuple[str, str]) -> dict[str, Any]:
    return rule("fixer", *(repair(*action) for action in actions), repair("give_up"))


class Course:
    """What became of a pair: its attempts, and what the agents were asked, the arbiter last."""

    def __init__(self, attempts: Sequence[Attempt], trace: Trace, calls: list[Any]) -> None:
        self.attempts = tuple(attempts)
        self.trace = trace
        self.first = self.attempts[0]
        self.roles = [call["role"] for call in calls]
        self.told = [str(call["messages"][1]["content"]) for call in calls]

    def told_to(self, role: str) -> list[str]:
        return [text for asked, text in zip(self.roles, self.told, strict=True) if asked == role]


async def course_of(
    bench: Bench, sandbox: Sandbox, pair: Pair, program: str, configuration: Configuration
) -> Course:
    """Return what becomes of a first program, up to the arbiter."""
    before = len(bench.server.calls)
    model = bench.model()
    trace = Trace(model)
    attempts = await attempts_of(sandbox, pair, program, configuration, trace)
    await configuration.arbiter_type(model).judge(pair, attempts)
    return Course(attempts, trace, bench.server.calls[before:])


async def attempts_of(
    sandbox: Sandbox, pair: Pair, program: str, configuration: Configuration, trace: Trace
) -> tuple[Attempt, ...]:
    validator = OracleValidator(GateSettings(), Python(), PythonRules())
    tester = testers.Tester(sandbox, Python(), configuration, 3, validator)
    return await tester.test(pair, Draft(reading="r", program=program), trace)


FIRST = "def first(items):\n    return items[0]"
OF_NOTHING = """from target import first
def test_nothing():
    found = first([])
    assert found is None
"""
SWALLOWS = """from target import first
def test_nothing():
    try:
        found = first([])
    except IndexError:
        found = None
    assert found is None
"""


@real
async def test_2_an_exception_of_the_codes_own_logic_is_evidence_and_not_repaired(
    bench: Bench, sandbox: Sandbox
) -> None:
    blind = f"# by the query alone\n{OF_NOTHING}"
    replies = [fixes(("replace_program", SWALLOWS)), written_blind(blind), written(SWALLOWS)]
    bench.serve([*replies, ANSWERS])
    pair = pair_of(FIRST, "first item of a list, None where it has none")
    new = await course_of(bench, sandbox, pair, OF_NOTHING, SPEC)
    assert new.roles == ["blind_writer", "arbiter"]
    assert [item.evidence for item in new.attempts] == [RunEvidence.CODE_RAISED] * 2
    assert [item.is_valid for item in new.attempts] == [True, True]
    assert is_confirmed(new.attempts)
    assert "Exception of the code's own logic: " in new.told[-1]
    assert "both fail by what the code does" in new.told[-1]


@real
async def test_2_an_exception_that_no_second_program_confirms_does_not_count(
    bench: Bench, sandbox: Sandbox
) -> None:
    blind = "from target import first\ndef test_it():\n    assert first([1, 2]) == 1"
    bench.serve([written_blind(blind), ANSWERS])
    new = await course_of(bench, sandbox, pair_of(FIRST), OF_NOTHING, SPEC)
    assert [item.evidence for item in new.attempts] == ["code_raised", "passed"]
    assert not is_confirmed(new.attempts)
    assert "no second, independent one agrees" in new.told[-1]


async def test_2_a_program_that_came_to_a_limit_is_written_once_more_and_not_repaired(
    bench: Bench,
) -> None:
    bench.serve([GAVE_UP, written(OF_NOTHING), ANSWERS])
    stopped = FakeSandbox(lambda program, _: ExecutionResult(outcome="timeout", message="2 s"))
    new = await course_of(bench, stopped, bench.pair, OF_NOTHING, SPEC)
    assert new.roles == ["writer", "arbiter"]
    assert "timeout: 2 s; test smaller values" in new.told[0]
    assert "Stopped: " in new.told[-1]


AREA = (
    "def area(radius):\n    if radius < 0:\n        return 0\n    return floor(radius * radius * 3)"
)
OF_AREA = """from target import area
def test_area():
    assert area(2) == 12
    assert area(0.5) == 0
    assert area(-1) == 0
"""
IMPORT = "from math import floor"


@real
async def test_3_a_name_that_the_code_lacks_is_imported_for_it_after_one_repair_in_vain(
    bench: Bench, sandbox: Sandbox
) -> None:
    to_code = ("add_import_to_code", IMPORT)
    bench.serve([fixes(("add_import", IMPORT), to_code), ANSWERS])
    new = await course_of(bench, sandbox, pair_of(AREA), OF_AREA, SPEC)
    first, second = new.told_to("fixer")
    assert "in vain" not in first
    assert f"add_import {IMPORT}: done, but it ended by NameError: name 'floor'" in second
    assert (new.first.evidence, new.first.is_valid) == (RunEvidence.PASSED, True)
    assert new.first.draft.support_code == IMPORT
    assert new.first.report is not None
    assert new.first.report.judged >= 2, "mutants have the import too"
    assert new.first.report.protection == "separate", "and so has the code apart"


@real
async def test_3_what_was_imported_stays_for_a_second_program(
    bench: Bench, sandbox: Sandbox
) -> None:
    wrong = OF_AREA.replace("== 12", "== 13")
    blind = f"# by the query alone\n{wrong}"
    bench.serve([fixes(("add_import_to_code", IMPORT)), written_blind(blind), ANSWERS])
    pair = pair_of(AREA)
    new = await course_of(bench, sandbox, pair, wrong, SPEC)
    assert [item.draft.support_code for item in new.attempts] == [IMPORT, IMPORT]
    assert is_confirmed(new.attempts)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("import os\nos.remove('x')", "line 2 is no import, definition or constant"),
        ("", "nothing is given"),
        ("from math import *", "* is no name that the code lacks"),
        ("from math import pow, floor", "pow is no name that the code lacks"),
        ("from json import dumps as area", "area is no name that the code lacks"),
    ],
)
async def test_3_only_what_the_code_lacks_is_added_to_it(
    bench: Bench, content: str, problem: str
) -> None:
    bench.serve([fixes(("add_import_to_code", content)), ANSWERS])
    lacking = ExecutionResult(
        outcome="raised", error_type="NameError", message="name 'floor' is not defined"
    )
    new = await course_of(bench, FakeSandbox(lambda _, __: lacking), pair_of(AREA), OF_AREA, SPEC)
    assert new.first.draft.support_code == ""
    assert [step.output for step in new.first.draft.repairs if not step.ok] == [problem]
    assert problem in new.told_to("fixer")[1]


JOINED = """def joined(words, mark=" "):
    if not words:
        raise ValueError("no " + "words")
    return mark.join(words)
"""
OF_JOINED = "from target import joined\ndef test_it():\n    assert joined(['a', 'b']) == 'a b'"


@real
async def test_4_mistakes_beside_the_querys_demand_do_not_fail_a_sound_program(
    bench: Bench, sandbox: Sandbox
) -> None:
    bench.serve([written(OF_JOINED), ANSWERS])
    pair = pair_of(JOINED, "join words by spaces")
    new = await course_of(bench, sandbox, pair, OF_JOINED, SPEC)
    assert new.roles == ["arbiter"]
    assert new.first.is_valid
    assert new.first.report is not None
    changes = [run.change for run in new.first.report.trials]
    assert not any("no X" in change for change in changes), "wording alone"


async def killing(validator: OracleValidator, code: str, program: str, *ends: str) -> set[str]:
    draft = Draft(reading="r", program=program)
    box = InTurn(*ends)
    report = await validator.validate(pair_of(code), draft, await box.run(program), box)
    return set(report.faults)


@pytest.mark.parametrize(
    ("ends", "is_void"),
    [
        (["assertion_failed", "passed", *["raised"] * 5, "assertion_failed"], False),
        (["assertion_failed"] * 3 + ["passed"] * 4, False),
        (["assertion_failed", "passed", *["raised"] * 30], False),
        (["assertion_failed", "passed", "passed", *["raised"] * 30], True),
        (["passed", *["raised"] * 30], True),
        (["raised"] * 30, True),
        (["assertion_failed"] + ["passed"] * 10, True),
        (["passed"] * 30, True),
        (["assertion_failed"] * 12, False),
    ],
)
async def test_4_mutants_fail_a_program_only_where_the_score_is_surely_too_low(
    ends: list[str], is_void: bool
) -> None:
    validator = OracleValidator(GateSettings(mutants=7), Python(), PythonRules())
    faults = await killing(validator, JOINED, OF_JOINED, *ends)
    assert faults == ({Gate.KILLS_MUTANTS} if is_void else set())


MANY = (
    "def f(a, b):\n    if a > b and a > 0:\n        return a * 2 + b - 1\n    return [a + b, a - b]"
)


async def test_4_a_dozen_mutants_are_run_where_the_code_has_so_many() -> None:
    program = "from target import f\ndef test_it():\n    assert f(2, 1) == 4"
    box = InTurn(*["assertion_failed"] * 40)
    draft = Draft(reading="r", program=program)
    report = await OracleValidator(GateSettings(), Python(), PythonRules()).validate(
        pair_of(MANY), draft, await box.run(program), box
    )
    assert len(report.trials) == 12


def test_4_the_requirement_of_mutants_stands_in_the_first_prompt() -> None:
    assert "versions of the code with one mistake" in system_text(SPEC.writer_type.text_name())
    assert "test nothing for their sake" in SPEC.writer_type.once_more


SCALED = "def scaled(self, number):\n    if self.is_on():\n        return number * self.factor\n"
OF_SCALED = """from target import DummySelf, scaled
def test_it():
    assert scaled(DummySelf(factor=2, is_on=lambda: True), 3) == 7
"""
WITHOUT = OF_SCALED.replace("factor=2, ", "")


@real
async def test_5_a_blind_writer_knows_by_name_what_a_methods_object_needs(
    bench: Bench, sandbox: Sandbox
) -> None:
    bench.serve([written_blind(WITHOUT), fixes(), ANSWERS])
    pair = pair_of(SCALED)
    new = await course_of(bench, sandbox, pair, OF_SCALED, SPEC)
    (told,) = new.told_to("blind_writer")
    assert "factor, is_on\n" in told
    assert "number * " not in told
    assert new.attempts[1].outcome is RunOutcome.DEPENDENCY_MISSING
    assert "Missing surroundings: " in new.told[-1]
    assert not is_confirmed(new.attempts)


TURNS_INTO_A_FAILURE = """from target import area
def test_it():
    try:
        found = area(2)
    except Exception as error:
        assert False, f"raised {error}"
    assert found == 12
"""
RAISES = "def area(radius):\n    raise TypeError('no radius')"


@real
async def test_7_missing_surroundings_turned_into_a_failed_assertion_are_no_failure(
    bench: Bench, sandbox: Sandbox
) -> None:
    bench.serve([written_blind(TURNS_INTO_A_FAILURE), fixes(), ANSWERS])
    new = await course_of(bench, sandbox, pair_of(AREA), TURNS_INTO_A_FAILURE, SPEC)
    assert new.roles == ["fixer", "arbiter"]
    assert new.first.outcome is RunOutcome.DEPENDENCY_MISSING


@real
async def test_7_the_arbiter_is_told_that_an_exception_became_a_failed_assertion(
    bench: Bench, sandbox: Sandbox
) -> None:
    bench.serve([written_blind(TURNS_INTO_A_FAILURE), ANSWERS])
    new = await course_of(bench, sandbox, pair_of(RAISES), TURNS_INTO_A_FAILURE, SPEC)
    assert "The program catches what the code raises." in new.told[-1]
    assert "line 3 catches Exception" in new.told[-1]
    assert "test_it: exception of the code's own logic" in new.told[-1]
    assert {item.outcome for item in new.attempts} == {RunOutcome.CODE_RAISED}


async def test_7_a_repair_that_would_hide_what_the_code_raises_is_refused(bench: Bench) -> None:
    bench.serve([fixes(("replace_program", SWALLOWS)), ANSWERS])
    called_wrongly = OF_NOTHING.replace("first([])", "first()")
    fault = ExecutionResult(outcome="raised", error_type="TypeError", message="missing 1 argument")
    boxes = FakeSandbox(lambda _, __: fault)
    new = await course_of(bench, boxes, pair_of(FIRST), called_wrongly, SPEC)
    assert new.first.draft.program == called_wrongly
    assert "which would hide what the code does" in new.told_to("fixer")[1]


@pytest.mark.parametrize("outcome", RunOutcome)
async def test_each_kind_of_outcome_has_its_own_line_for_the_arbiter(
    bench: Bench, outcome: RunOutcome
) -> None:
    bench.serve([ANSWERS])
    result = ExecutionResult(outcome="passed" if outcome is RunOutcome.PASSED else "raised")
    attempt = Attempt(draft=Draft(reading="r", program="assert 1"), result=result, outcome=outcome)
    await SPEC.arbiter_type(bench.model()).judge(bench.pair, [attempt])
    (call,) = bench.server.calls
    told = str(call["messages"][1]["content"]).splitlines()
    names = ("Passed: ", "Failed assertion: ", "Exception of", "Missing", "Stopped: ", "The test's")
    assert sum(line.startswith(names) for line in told) == 1
