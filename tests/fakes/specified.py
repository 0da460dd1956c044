"""Replies of agents that judge by a query's specification."""

import json
from collections.abc import Callable, Collection
from typing import Any

from infra.records import CaseResult, ExecutionResult, LanguageModelCall

SPECIFICATION: dict[str, Any] = {
    "reading": "reverse the characters of a text",
    "demands": "- the characters come in reverse order\n- the text itself stays\n",
    "left_open": "names of parameters",
    "examples": "'abc' => 'cba'\n'' => ''\n'aab' => 'baa'\nanything at all",
    "clarity": "clear",
}
SCREENING: dict[str, Any] = {
    "reason": "it slices backwards",
    "verdict": "clear_match",
    "adapter": "def answer(text):\n    return backwards(text)",
    "call": "'ab' => 'ab'",
}


def call_of(role: str, reply: dict[str, Any], **fields: Any) -> LanguageModelCall:
    """Return a call of an agent that was answered."""
    row = {"role": role, "attempt": 1, "model": "m", "prompt_digest": role, "status": "ok"}
    return LanguageModelCall.model_validate({**row, "reply": json.dumps(reply), **fields})


def claims_run(
    failing: dict[str, str] | None = None, broken: Collection[str] = ()
) -> Callable[[str, frozenset[str]], ExecutionResult]:
    """Return what a box says of programs: claims hold but for some, which give another value.

    Args:
        failing: Arguments of a claim, as in ``'ab'``, → what the code gives for them.
        broken: Arguments with which the code cannot be called.
    """
    given = failing or {}

    def run(program: str, _installed: frozenset[str]) -> ExecutionResult:
        tests = program.split("\ndef test_claim_")[1:]
        cases = tuple(_case(number, text, given, broken) for number, text in enumerate(tests, 1))
        failed = next((case for case in cases if case.outcome != "passed"), None)
        counts = {"tests_run": 2, "asserts_executed": 3, "target_calls": 3, "tests": cases}
        if failed is None:
            return ExecutionResult(outcome="passed", **counts)
        return ExecutionResult(
            outcome=failed.outcome, error_type=failed.error_type, message=failed.message, **counts
        )

    return run


def _case(number: int, text: str, given: dict[str, str], broken: Collection[str]) -> CaseResult:
    name = f"test_claim_{number}"
    if any(f"passed({arguments}\n)" in text for arguments in broken):
        return CaseResult(name=name, outcome="raised", error_type="NameError", message="no x")
    for arguments, value in given.items():
        if f"passed({arguments}\n)" in text:
            return CaseResult(
                name=name,
                outcome="assertion_failed",
                error_type="AssertionError",
                message=f"gave {value}",
            )
    return CaseResult(name=name, outcome="passed")
