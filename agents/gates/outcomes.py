"""How runs ended, told apart by what is to blame: the code, what is missing around it, or the test.

Who is to blame follows from the tracebacks: from the innermost call in the program or in the code
under test. They are texts that the code can make up, so an outcome may keep a failure from being
evidence; it never makes a program pass.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from agents.evidence import RunOutcome
from agents.gates.catching import catches_in
from agents.gates.static_checks import names_defined_by
from infra.languages.python.scaffolding import DUMMY, bound_names
from infra.languages.python.syntax import UNREADABLE, parse_or_none
from infra.languages.python.tracebacks import Frame, Raised, exceptions_in
from infra.records import CaseResult, ExecutionResult

_PROGRAM, _TARGET = "program.py", "target.py"
_STAND_INS = {"SimpleNamespace", "Mock", "MagicMock", "NonCallableMock"}
# Of the network, the display and the file system, which a box does not have.
_OF_SURROUNDINGS = {
    "gaierror", "herror", "URLError", "ConnectionError", "ConnectionRefusedError", "ProxyError",
    "ConnectTimeout", "NewConnectionError", "MaxRetryError", "SSLError", "TclError",
    "PermissionError",
}  # fmt: skip
_PLACE = re.compile(r" \(line \d+: ")  # where a message goes on with the program's own line
_UNMET = "DID NOT RAISE"  # how pytest begins
_QUOTED = re.compile(r"'([^']*)'")
_BY_WEIGHT = (
    RunOutcome.FAILED_ASSERTION,
    RunOutcome.SURROUNDINGS_MISSING,
    RunOutcome.CODE_RAISED,
    RunOutcome.STOPPED,
    RunOutcome.TEST_AT_FAULT,
)
_OF_THE_CODE = (RunOutcome.SURROUNDINGS_MISSING, RunOutcome.CODE_RAISED)


def outcome_of(result: ExecutionResult, program: str, code: str) -> RunOutcome:
    """Return how a run ended; of several failures the one that decides what is done next.

    A failed assertion stands whatever else failed, as in the result; where no assertion failed,
    what is missing comes before what the code raised, which it may have caused.

    Args:
        result: The run.
        program: The test program.
        code: The code under test, with all that was added to it.
    """
    if result.outcome == "passed":
        return RunOutcome.PASSED
    if result.outcome == "import_error":
        return RunOutcome.SURROUNDINGS_MISSING
    if result.outcome not in ("raised", "assertion_failed"):
        return RunOutcome.STOPPED
    found = set(outcomes_of_tests(result, program, code).values())
    blame = _Blame(program, code)
    return min(found or {blame.of_run(result)}, key=_BY_WEIGHT.index)


def outcomes_of_tests(result: ExecutionResult, program: str, code: str) -> Mapping[str, RunOutcome]:
    """Return test → how it ended, of the tests that failed; arguments as of `outcome_of`."""
    blame = _Blame(program, code)
    return {
        case.name: blame.of_case(case, result) for case in result.tests if case.outcome != "passed"
    }


def catches_of(program: str, code: str) -> tuple[str, ...]:
    """Return where a program catches what the code under test raises, each place on a line.

    There an exception may become a failed assertion, or be passed over: reports do not show it.
    Of a program that is nested too deeply to be searched, none is returned.
    """
    tree = parse_or_none(program)
    try:
        return tuple(catches_in(tree, names_defined_by(code))) if tree else ()
    except UNREADABLE:
        return ()


class _Blame:
    """What is to blame for failures of one program on one piece of code."""

    def __init__(self, program: str, code: str) -> None:
        target = parse_or_none(code)
        self._is_python = target is not None
        self._bound = bound_names(code)
        self._texts = set(_texts_in(target))
        self._stand_ins = _STAND_INS | set(_classes_in(parse_or_none(program)))

    def of_case(self, case: CaseResult, result: ExecutionResult) -> RunOutcome:
        """Return the outcome of a test that failed; a traceback that is cut off is in stderr."""
        if case.outcome == "import_error":
            return RunOutcome.SURROUNDINGS_MISSING
        if case.outcome == "memory":
            return RunOutcome.STOPPED
        text = case.traceback
        if '  File "' not in text and case.error_type == result.error_type:
            text = result.stderr
        return self._of_text(text, case.outcome, case.error_type, case.message)

    def of_run(self, result: ExecutionResult) -> RunOutcome:
        """Return the outcome of a program that failed outside its tests."""
        return self._of_text(result.stderr, result.outcome, result.error_type, result.message)

    def _of_text(self, traceback: str, outcome: str, error_type: str, message: str) -> RunOutcome:
        *before, last = exceptions_in(traceback)
        chain = [*before, Raised(error_type, _PLACE.split(message)[0], last.frames)]
        return self._of_chain(chain, is_assertion=outcome == "assertion_failed")

    def _of_chain(self, chain: list[Raised], *, is_assertion: bool) -> RunOutcome:
        """Return the outcome of the last exception, or of one that the program replaced by it."""
        *before, error = chain
        found = self._of_one(error, is_assertion=is_assertion)
        if not before or found in _OF_THE_CODE:
            return found
        cause = self._of_chain(before, is_assertion=before[-1].error_type == "AssertionError")
        replaced = cause in _OF_THE_CODE or cause is RunOutcome.FAILED_ASSERTION
        return cause if replaced else found

    def _of_one(self, error: Raised, *, is_assertion: bool) -> RunOutcome:
        own = [frame for frame in error.frames if frame.file in (_PROGRAM, _TARGET)]
        if own and own[-1].file == _TARGET:
            return self._of_target(error, own[-1])
        if is_assertion or _is_verdict(error):
            return RunOutcome.FAILED_ASSERTION
        is_syntax = error.error_type in ("SyntaxError", "IndentationError", "TabError")
        if is_syntax and not self._is_python:
            return RunOutcome.SURROUNDINGS_MISSING  # another Python than this one
        is_missing = error.error_type == "ImportError" and "'target'" not in error.message
        return RunOutcome.SURROUNDINGS_MISSING if is_missing else RunOutcome.TEST_AT_FAULT

    def _of_target(self, error: Raised, frame: Frame) -> RunOutcome:
        """Return the outcome of an exception that came out of the code under test."""
        quoted = set(_QUOTED.findall(error.message))
        if error.error_type in ("AttributeError", "TypeError"):
            if DUMMY in quoted:
                return RunOutcome.SURROUNDINGS_MISSING
            if quoted & self._stand_ins:
                return RunOutcome.TEST_AT_FAULT
        is_missing = frame.function == "<module>" or self._is_missing(error, quoted)
        return RunOutcome.SURROUNDINGS_MISSING if is_missing else RunOutcome.CODE_RAISED

    def _is_missing(self, error: Raised, quoted: set[str]) -> bool:
        """Return whether the code failed for want of something around it."""
        name, message = error.error_type, error.message
        if name in _OF_SURROUNDINGS or "[Python 2: " in message:
            return True
        if name in ("ImportError", "ModuleNotFoundError"):
            return True
        if name == "NameError":
            return not quoted & self._bound
        if name == "AttributeError":
            return message.startswith("module ")
        if name == "FileNotFoundError":
            return bool((quoted | {PurePosixPath(path).name for path in quoted}) & self._texts)
        return name == "KeyError" and error.frames[-1].file == "<frozen os>"


def _is_verdict(error: Raised) -> bool:
    """Return whether pytest raised it: a ``raises`` that was not met, or a call of ``fail``."""
    of_pytest = any(frame.file.endswith("/_pytest/outcomes.py") for frame in error.frames)
    return error.error_type == "Failed" and (of_pytest or error.message.startswith(_UNMET))


def _classes_in(tree: ast.Module | None) -> Iterator[str]:
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ClassDef):
            yield node.name


def _texts_in(tree: ast.Module | None) -> Iterator[str]:
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
