"""Test programs in JavaScript are checked by their text, and their ends are told apart.

Covers `agents.gates.javascript` and `agents.gates.rules`.
"""

import pytest

from agents.evidence import RunOutcome
from agents.gates.gates import Gate
from agents.gates.javascript import faults_of, outcome_of, raised_in_program
from agents.gates.rules import RULES
from infra.languages import languages
from infra.records import CaseResult, ExecutionResult

CODE = "function first(n, items) { return items.slice(0, n); }"
OF_CODE, OF_PROGRAM = "Error: x\n    at first (target.js:1:3)", "at test_it (program.js:2:1)"


@pytest.mark.parametrize(
    ("program", "gates"),
    [
        ("const { first } = require('target');\nassert(first(1, 'a') === 'a');", set()),
        ("assert(", {Gate.READABLE}),
        ("function first() {}\nassert(1);", {Gate.LEAVES_TARGET_ALONE}),
        ("require('target').first(1, 'a');", {Gate.DEMANDS_VALUES}),
        ("assert(require('net'));", {Gate.NEEDS_NOTHING_OUTSIDE}),
    ],
)
def test_a_text_is_checked(program: str, gates: set[Gate]) -> None:
    assert faults_of(program, CODE).keys() == gates


@pytest.mark.parametrize(
    ("outcome", "error_type", "stack", "expected"),
    [
        ("assertion_failed", "AssertionError", OF_PROGRAM, RunOutcome.FAILED_ASSERTION),
        ("raised", "TypeError", f"{OF_CODE}\n{OF_PROGRAM}", RunOutcome.CODE_RAISED),
        ("raised", "ReferenceError", OF_CODE, RunOutcome.SURROUNDINGS_MISSING),
        ("raised", "NotSeparableError", "", RunOutcome.SURROUNDINGS_MISSING),
        ("raised", "TypeError", OF_PROGRAM, RunOutcome.TEST_AT_FAULT),
        ("import_error", "Error", OF_CODE, RunOutcome.SURROUNDINGS_MISSING),
    ],
)
def test_what_is_to_blame_follows_from_the_stack(
    outcome: str, error_type: str, stack: str, expected: RunOutcome
) -> None:
    fields = {"outcome": outcome, "error_type": error_type}
    case = CaseResult.model_validate({"name": "test_it", "traceback": stack, **fields})
    whole = ExecutionResult.model_validate({**fields, "stderr": stack})
    for result in (whole, whole.model_copy(update={"tests": (case,)})):
        assert outcome_of(result, "", CODE) is expected
    assert raised_in_program(whole) == (stack == OF_PROGRAM)


@pytest.mark.parametrize("outcome", ["timeout", "memory", "killed", "output_limit"])
def test_a_run_that_was_stopped_is_told(outcome: str) -> None:
    result = ExecutionResult.model_validate({"outcome": outcome})
    assert outcome_of(result, "", CODE) is RunOutcome.STOPPED


def test_each_language_that_a_box_runs_has_rules() -> None:
    made = (languages.get(name)() for name in languages.names())
    assert {one.name for one in made if one.is_executed} == set(RULES)
