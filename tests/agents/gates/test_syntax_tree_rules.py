"""Test programs in JavaScript and Go are checked by their text, and their ends are told apart.

Covers `agents.gates.syntax_tree_rules` and `agents.gates`.
"""

import pytest

from agents.evidence import RunOutcome
from agents.gates import Gate
from agents.gates.syntax_tree_rules import GO, JAVASCRIPT, SyntaxTreeRules
from infra.records import CaseResult, ExecutionResult

CODE = "function first(n, items) { return items.slice(0, n); }"
IN_CODE, IN_PROGRAM = "target.go:0\ntarget.first target.go:3", "\ntarget.TestIt program.go:2"
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
    assert JAVASCRIPT.faults_of(program, CODE).keys() == gates


CHECK = 'func TestIt(t *testing.T) {\n\tif first(1, "a") != "a" {\n\t\tt.Fatal()\n\t}\n}\n'


@pytest.mark.parametrize(
    ("program", "gates"),
    [
        (CHECK, set()),
        (f'package p\n\nimport "unsafe"\n\n{CHECK}', {Gate.LEAVES_TARGET_ALONE}),
        (f"//go:linkname a b\nfunc a()\n{CHECK}", {Gate.LEAVES_TARGET_ALONE}),
        (f"{CHECK}func first() {{}}", {Gate.LEAVES_TARGET_ALONE}),
        (f"func (t *T) first() {{}}\n{CHECK}", set()),
        ("func TestIt(t *testing.T) { first(1, `a`) }", {Gate.DEMANDS_VALUES}),
        (CHECK.replace("first", "http.Get"), {Gate.NEEDS_NOTHING_OUTSIDE}),
        ("func (", {Gate.READABLE}),
    ],
)
def test_a_text_in_go_is_checked(program: str, gates: set[Gate]) -> None:
    assert GO.faults_of(program, "func first(n int, s string) string { return s }").keys() == gates


@pytest.mark.parametrize(
    ("outcome", "error_type", "stack", "expected"),
    [
        ("assertion_failed", "AssertionError", OF_PROGRAM, RunOutcome.FAILED_ASSERTION),
        ("raised", "TypeError", f"{OF_CODE}\n{OF_PROGRAM}", RunOutcome.CODE_RAISED),
        ("raised", "ReferenceError", OF_CODE, RunOutcome.DEPENDENCY_MISSING),
        ("raised", "NotSeparableError", "", RunOutcome.DEPENDENCY_MISSING),
        ("raised", "TypeError", OF_PROGRAM, RunOutcome.TEST_AT_FAULT),
        ("import_error", "Error", OF_CODE, RunOutcome.DEPENDENCY_MISSING),
        ("assertion_failed", "", IN_PROGRAM, RunOutcome.FAILED_ASSERTION),
        ("raised", "runtime.boundsError", IN_CODE, RunOutcome.CODE_RAISED),
        ("raised", "runtime.boundsError", IN_PROGRAM, RunOutcome.TEST_AT_FAULT),
        ("raised", "CompileError", IN_CODE, RunOutcome.DEPENDENCY_MISSING),
        ("raised", "CompileError", IN_PROGRAM, RunOutcome.TEST_AT_FAULT),
    ],
)
def test_what_is_to_blame_follows_from_the_stack(
    outcome: str, error_type: str, stack: str, expected: RunOutcome
) -> None:
    rules: SyntaxTreeRules = GO if ".go" in stack else JAVASCRIPT
    fields = {"outcome": outcome, "error_type": error_type}
    case = CaseResult.model_validate({"name": "test_it", "traceback": stack, **fields})
    whole = ExecutionResult.model_validate({**fields, "stderr": stack})
    for result in (whole, whole.model_copy(update={"tests": (case,)})):
        assert rules.outcome_of(result, "", CODE) is expected
    assert rules.raised_in_program(whole) == (stack in (OF_PROGRAM, IN_PROGRAM))


def test_what_a_failed_test_tells_of_the_network_is_none_of_the_code() -> None:
    message = 'got Get "http://a": dial tcp: lookup a: no such host'
    case = CaseResult(name="TestIt", outcome="assertion_failed", message=message)
    result = ExecutionResult(outcome="assertion_failed", message=message, tests=(case,))
    assert GO.outcome_of(result, "", CODE) is RunOutcome.DEPENDENCY_MISSING


@pytest.mark.parametrize("outcome", ["timeout", "memory", "killed", "output_limit"])
def test_a_run_that_was_stopped_is_told(outcome: str) -> None:
    result = ExecutionResult.model_validate({"outcome": outcome})
    assert JAVASCRIPT.outcome_of(result, "", CODE) is RunOutcome.STOPPED
