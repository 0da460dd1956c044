"""Ends of runs, and causes of failures: the code, missing dependencies, or the test.

That follows from the tracebacks: from the innermost call in the program or in the code under test.
They are texts that the code can make up, so an outcome may keep a failure from being
evidence; it never makes a program pass.
"""

import re
from pathlib import PurePosixPath

from agents.evidence import RunOutcome
from agents.gates import FailureClassifier, ProgramRules
from agents.gates.argument_expectations import expects_by_arguments
from agents.gates.exception_handlers import exception_handlers
from agents.gates.missing_dependencies import is_missing_dependency
from agents.gates.static_checks import (
    demands_emptiness,
    faults_of,
    names_defined_by,
    sets_on_modules,
)
from agents.gates.stubs import PYTHON_STUBS, functions_of
from infra.languages.python import (
    SELF_STUB,
    UNREADABLE,
    Frame,
    Raised,
    ast,
    bound_names,
    exceptions_in,
    parse_or_none,
    without_messages,
)
from infra.records import CaseResult, ExecutionResult

_PROGRAM, _TARGET = "program.py", "target.py"
_STAND_INS = {"SimpleNamespace", "Mock", "MagicMock", "NonCallableMock"}
# How messages of sockets begin that waited for an answer from the network.
_NO_ANSWER = ("timed out", "[Errno 110]", "The read operation timed out", "_ssl.c:")
_PLACE = re.compile(r" \(line \d+: ")  # where a message goes on with the program's own line
_UNMET = "DID NOT RAISE"  # how pytest begins
_QUOTED = re.compile(r"'([^']*)'")
_OF_THE_CODE = (RunOutcome.DEPENDENCY_MISSING, RunOutcome.CODE_RAISED)


class PythonRules(ProgramRules):
    """The rules of Python."""

    claims = "def adapted_answer("
    stubs = PYTHON_STUBS
    faults_of = staticmethod(faults_of)
    without_messages = staticmethod(without_messages)
    sets_on_modules = staticmethod(sets_on_modules)

    def expects_by_arguments(self, program: str, code: str) -> bool:  # noqa: ARG002 - as imported
        """Return True if a program works out expected values from arguments."""
        return expects_by_arguments(program)

    def demands_emptiness(self, program: str, code: str) -> bool:  # noqa: ARG002 - as imported
        """Return True if a program asks for values that are empty."""
        return demands_emptiness(program)

    def failure_classifier(self, program: str, code: str, stubs: str) -> FailureClassifier:
        """Return the failure classifier that reads tracebacks."""
        return _PythonClassifier(program, code, stubs)

    def raised_in_program(self, result: ExecutionResult) -> bool:
        """Return True if an exception of a run came out of a line of the program itself."""
        failed = [case for case in result.tests if case.outcome != "passed"]
        texts = [_whole_traceback(case, result) for case in failed] or [result.stderr]
        frames = (_last_own_frame(exceptions_in(text)[-1]) for text in texts)
        return any(frame is not None and frame.file == _PROGRAM for frame in frames)


def handler_lines(program: str, code: str) -> tuple[str, ...]:
    """Return the places where a program catches what the code raises, one a line.

    Of a program that is nested too deeply to be searched, none is returned.
    """
    tree = parse_or_none(program)
    try:
        return tuple(exception_handlers(tree, names_defined_by(code))) if tree else ()
    except UNREADABLE:
        return ()


class _PythonClassifier:
    """The failure classifier of one program on one piece of code."""

    def __init__(self, program: str, code: str, stubs: str) -> None:
        nothing = ast.Module([], [])
        target, test = parse_or_none(code), parse_or_none(program) or nothing
        self._stubs = functions_of(stubs, code)
        self._is_python = target is not None
        self._bound = bound_names(code)
        constants = (one for one in ast.walk(target or nothing) if isinstance(one, ast.Constant))
        self._texts = {one.value for one in constants if isinstance(one.value, str)}
        classes = (one.name for one in ast.walk(test) if isinstance(one, ast.ClassDef))
        self._stand_ins = _STAND_INS.union(classes)

    def __call__(self, result: ExecutionResult, case: CaseResult | None) -> RunOutcome:
        """Return the outcome of a test that failed, or of a program outside its tests."""
        end = case or result
        if case and case.outcome == "import_error":
            return RunOutcome.DEPENDENCY_MISSING
        if case and case.outcome == "memory":
            return RunOutcome.STOPPED
        text = _whole_traceback(case, result) if case else result.stderr
        *before, last = exceptions_in(text)
        raised = Raised(end.error_type, _PLACE.split(end.message)[0], last.frames)
        return self._classify_chain(
            [*before, raised], is_assertion=end.outcome == "assertion_failed"
        )

    def _classify_chain(self, chain: list[Raised], *, is_assertion: bool) -> RunOutcome:
        """Return the outcome of the last exception, or of one that was replaced by it."""
        *before, error = chain
        found = self._classify(error, is_assertion=is_assertion)
        if found is RunOutcome.CODE_RAISED and any(map(self._shows_missing, before)):
            return RunOutcome.DEPENDENCY_MISSING
        if not before or found in _OF_THE_CODE:
            return found
        cause = self._classify_chain(before, is_assertion=before[-1].error_type == "AssertionError")
        replaced = cause in _OF_THE_CODE or cause is RunOutcome.FAILED_ASSERTION
        return cause if replaced else found

    def _shows_missing(self, error: Raised) -> bool:
        """Return True if an exception came out of the code for want of something around it."""
        last = _last_own_frame(error)
        if last is None or last.file != _TARGET:
            return False
        return self._classify_in_target(error, last) is RunOutcome.DEPENDENCY_MISSING

    def _classify(self, error: Raised, *, is_assertion: bool) -> RunOutcome:
        last = _last_own_frame(error)
        if last and last.file == _TARGET:
            return self._classify_in_target(error, last)
        # What pytest raises: a ``raises`` that was not met, or a call of ``fail``.
        is_by_pytest = any(frame.file.endswith("/_pytest/outcomes.py") for frame in error.frames)
        is_verdict = is_by_pytest or error.message.startswith(_UNMET)
        if is_assertion or (error.error_type == "Failed" and is_verdict):
            return RunOutcome.FAILED_ASSERTION
        is_syntax = error.error_type in ("SyntaxError", "IndentationError", "TabError")
        if is_syntax and not self._is_python:
            return RunOutcome.DEPENDENCY_MISSING  # another Python than this one
        is_missing = error.error_type == "ImportError" and "'target'" not in error.message
        return RunOutcome.DEPENDENCY_MISSING if is_missing else RunOutcome.TEST_AT_FAULT

    def _classify_in_target(self, error: Raised, frame: Frame) -> RunOutcome:
        """Return the outcome of an exception that came out of the code under test."""
        quoted = set(_QUOTED.findall(error.message))
        if error.error_type in ("AttributeError", "TypeError"):
            if SELF_STUB in quoted:
                return RunOutcome.DEPENDENCY_MISSING
            if quoted & self._stand_ins:
                return RunOutcome.TEST_AT_FAULT
        is_of_stub = frame.function == "<module>" or frame.function in self._stubs
        is_missing = is_of_stub or self._is_missing(error, quoted)
        return RunOutcome.DEPENDENCY_MISSING if is_missing else RunOutcome.CODE_RAISED

    def _is_missing(self, error: Raised, quoted: set[str]) -> bool:
        """Return True if the code failed for want of something around it."""
        name, message, last = error.error_type, error.message, error.frames[-1].file
        if "[Python 2: " in message or is_missing_dependency(name, message):
            return True
        if name == "NameError":
            return not quoted & self._bound
        if name == "TimeoutError":
            return message.startswith(_NO_ANSWER)
        if name == "FileNotFoundError":
            return bool((quoted | {PurePosixPath(path).name for path in quoted}) & self._texts)
        if name == "LookupError":
            return last.endswith("/nltk/data.py")  # also where the message's first line is empty
        return name == "KeyError" and last == "<frozen os>"


def _last_own_frame(error: Raised) -> Frame | None:
    """Return the innermost call of the program or of the code under test, None for none."""
    own = [frame for frame in error.frames if frame.file in (_PROGRAM, _TARGET)]
    return own[-1] if own else None


def _whole_traceback(case: CaseResult, result: ExecutionResult) -> str:
    """Return the traceback of a test that failed; one that is cut off may be whole in stderr."""
    text = case.traceback
    if '  File "' not in text:
        return result.stderr if case.error_type == result.error_type else text
    if text.startswith("Traceback "):
        return text
    before, found, _ = result.stderr.partition(text)
    return before + found if found else text
