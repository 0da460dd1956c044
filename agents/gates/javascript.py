"""Gates for test programs in JavaScript: their text, and what is to blame for how a run ended.

The code always has a process of its own there, so that no program reads its text, and none of it
stands beside the asserts.
"""

import re
from collections.abc import Mapping

from tree_sitter import Node

from agents.evidence import RunOutcome
from agents.gates.gates import Gate
from infra.languages.javascript import JavaScript
from infra.records import ExecutionResult

_OF_CODE = re.compile(r"\btarget\.js:\d+")
_OF_PROGRAM = re.compile(r"\bprogram\.js:\d+")
_ASSERTS = re.compile(r"\bassert\b|\bclaims\.(?:gives|raises|prints)\b")
_OUTSIDE = re.compile(
    r"""\brequire\(\s*['"](?:node:)?(?:http|https|http2|net|dgram|dns|tls|os)['"]|\bfetch\("""
)
_MISSING = ("ReferenceError", "SyntaxError", "NotSeparableError")
_BY_WEIGHT = (
    RunOutcome.FAILED_ASSERTION,
    RunOutcome.SURROUNDINGS_MISSING,
    RunOutcome.CODE_RAISED,
    RunOutcome.TEST_AT_FAULT,
)


def faults_of(program: str, code: str) -> dict[Gate, str]:
    """Return the gates that a program fails by its text alone, with what is wrong."""
    language = JavaScript()
    try:
        root = language.root_of(program)
    except SyntaxError:
        return {Gate.READABLE: "the program cannot be read"}
    if root.has_error:
        return {Gate.READABLE: "the program is no JavaScript"}
    faults = {
        Gate.LEAVES_TARGET_ALONE: _redefines(root, language.called_names(code)),
        Gate.DEMANDS_VALUES: "" if _ASSERTS.search(program) else "it asserts nothing",
        Gate.NEEDS_NOTHING_OUTSIDE: "it needs the machine" if _OUTSIDE.search(program) else "",
    }
    return {gate: fault for gate, fault in faults.items() if fault}


def outcome_of(result: ExecutionResult, _program: str, _code: str, _beside: str = "") -> RunOutcome:
    """Return how a run ended; of several failures the one that decides what is done next."""
    if result.outcome == "passed":
        return RunOutcome.PASSED
    if result.outcome == "import_error":
        return RunOutcome.SURROUNDINGS_MISSING
    if result.outcome not in ("raised", "assertion_failed"):
        return RunOutcome.STOPPED
    found = set(outcomes_of_tests(result, "", "").values())
    of_run = _outcome(result.outcome, result.error_type, result.stderr)
    return min(found or {of_run}, key=_BY_WEIGHT.index)


def outcomes_of_tests(
    result: ExecutionResult, _program: str, _code: str, _beside: str = ""
) -> Mapping[str, RunOutcome]:
    """Return test → how it ended, of the tests that failed."""
    return {
        case.name: _outcome(case.outcome, case.error_type, case.traceback)
        for case in result.tests
        if case.outcome != "passed"
    }


def raised_in_program(result: ExecutionResult) -> bool:
    """Return whether an exception of a run came out of a line of the program itself."""
    failed = [case for case in result.tests if case.outcome != "passed"]
    texts = [case.traceback for case in failed] or [result.stderr]
    return any(_OF_PROGRAM.search(text) and not _OF_CODE.search(text) for text in texts)


def _outcome(outcome: str, error_type: str, stack: str) -> RunOutcome:
    if outcome == "assertion_failed":
        return RunOutcome.FAILED_ASSERTION
    is_missing = outcome == "import_error" or error_type in _MISSING
    if _OF_CODE.search(stack) or error_type == "NotSeparableError":
        return RunOutcome.SURROUNDINGS_MISSING if is_missing else RunOutcome.CODE_RAISED
    return RunOutcome.TEST_AT_FAULT


def _redefines(root: Node, names: frozenset[str]) -> str:
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        name = node.child_by_field_name("name")
        text = (name.text or b"").decode(errors="replace") if name else ""
        if node.type == "function_declaration" and text in names:
            return f"line {node.start_point.row + 1} defines {text}, which is the code's"
    return ""
