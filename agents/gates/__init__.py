"""The gates, which a test program must pass to count as evidence, and a language's rules for them.

The rules check a program's text, and say how its runs ended. ``static_checks`` are those of Python
that read the program; ``validator`` asks all gates, and runs the program on broken versions of the
code too (`infra.languages.python.mutation`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum

from agents.evidence import RunOutcome
from infra.records import CaseResult, ExecutionResult, OracleReport

# A run and the test that failed, None for a failure outside of tests → how that ended.
FailureClassifier = Callable[[ExecutionResult, CaseResult | None], RunOutcome]
_LONGEST_STUBS = 4_000  # characters
_NAMED = 3  # survivors that a writer is told
_BY_WEIGHT = (
    RunOutcome.FAILED_ASSERTION,
    RunOutcome.DEPENDENCY_MISSING,
    RunOutcome.CODE_RAISED,
    RunOutcome.STOPPED,
    RunOutcome.TEST_AT_FAULT,
)


class Gate(StrEnum):
    """A requirement on a test program whose result is to be evidence; the keys of the faults.

    The first five are checked by its text, ``IGNORES_SPELLING`` by its text and a run, the others
    by its runs.
    """

    READABLE = "readable"
    LEAVES_TARGET_ALONE = "leaves_target_alone"
    LETS_ASSERTIONS_FAIL = "lets_assertions_fail"
    DEMANDS_VALUES = "demands_values"
    NEEDS_NOTHING_OUTSIDE = "needs_nothing_outside"
    RUNS_TO_ITS_END = "runs_to_its_end"
    CALLS_TARGET = "calls_target"
    EXECUTES_ASSERTS = "executes_asserts"
    REPEATS = "repeats"
    IGNORES_SPELLING = "ignores_spelling"
    KILLS_MUTANTS = "kills_mutants"
    PASSES_APART = "passes_apart"


def reason_of(report: OracleReport) -> str:
    """Return why a program is no evidence, for its writer and for the arbiter; "" if it is.

    Some surviving mutants are named, since they show what it does not test.
    """
    lines = list(report.faults.values())
    if Gate.KILLS_MUTANTS in report.faults:
        lines += (
            f"a version of the code with this mistake passed as well: {change}"
            for change in report.survivors[:_NAMED]
        )
    return "\n".join(lines)


def can_be_improved(report: OracleReport) -> bool:
    """Return True if another program could pass where this one failed.

    Code with too few mutants that run validates no program, however good.
    """
    too_few_mutants = report.faults.keys() == {Gate.KILLS_MUTANTS} and not report.survivors
    return bool(report.faults) and not too_few_mutants


class StubRules:
    """The rules for stubs of code in a language (`agents.gates.stubs`); by default none may be."""

    def fault_of(self, text: str, code: str) -> str:
        """Return why lines cannot be stubs of a code, "" where they can, or there are none."""
        if len(text) > _LONGEST_STUBS:
            return f"it has more than {_LONGEST_STUBS:,} characters"
        return self._fault_of_text(text, code) if text.strip() else ""

    def usable(self, text: str, code: str) -> str:
        """Return lines without statements that bind what the code does not lack, "" at a fault."""
        return self._fitting(text, code) if self.fault_of(text, code) else text.strip()

    def _fault_of_text(self, text: str, code: str) -> str:  # noqa: ARG002 - by default
        """Return the fault of lines by their syntax tree, "" for none."""
        return "code of this language has no stubs"

    def _fitting(self, text: str, code: str) -> str:  # noqa: ARG002 - by default
        """Return the statements of faulty lines that bind what the code lacks, "" at a fault."""
        return ""

    def substitutes(self, stubs: str) -> tuple[str, ...]:  # noqa: ARG002 - by default
        """Return other stubs in place of what an agent made up, by default ().

        A failure that is the same with each of them does not rest on the stubs. Without any
        (Python) it rests on them where one of them raised.
        """
        return ()


class ProgramRules(ABC):
    """The rules of one language; by default there is nothing to find in a program's text.

    Attributes:
        claims: A part of each program of claims, and of no other program.
        stubs: The rules for stubs of code.
    """

    claims: str
    stubs: StubRules

    @abstractmethod
    def faults_of(self, program: str, code: str) -> dict[Gate, str]:
        """Return the gates that the program fails by its text alone, with what is wrong."""

    @abstractmethod
    def failure_classifier(self, program: str, code: str, stubs: str) -> FailureClassifier:
        """Return the failure classifier for a program on code that has stubs."""

    @abstractmethod
    def raised_in_program(self, result: ExecutionResult) -> bool:
        """Return True if an exception of a run came out of a line of the program itself."""

    def outcome_of(
        self, result: ExecutionResult, program: str, code: str, stubs: str = ""
    ) -> RunOutcome:
        """Return the end of a run; of several failures the one that decides the next step.

        A failed assertion stands whatever else failed, as in the result; where no assertion failed,
        what is missing comes before what the code raised, which it may have caused. An error of
        ``stubs``, which an agent put before the code, is none of the code's.
        """
        if result.outcome == "passed":
            return RunOutcome.PASSED
        if result.outcome == "import_error":
            return RunOutcome.DEPENDENCY_MISSING
        if result.outcome not in ("raised", "assertion_failed"):
            return RunOutcome.STOPPED
        classify = self.failure_classifier(program, code, stubs)
        ends = [classify(result, case) for case in result.tests if case.outcome != "passed"]
        return min(ends or [classify(result, None)], key=_BY_WEIGHT.index)

    def outcomes_of_tests(
        self, result: ExecutionResult, program: str, code: str, stubs: str = ""
    ) -> Mapping[str, RunOutcome]:
        """Return test → how it ended, of the tests that failed; arguments as of `outcome_of`."""
        classify = self.failure_classifier(program, code, stubs)
        failed = (case for case in result.tests if case.outcome != "passed")
        return {case.name: classify(result, case) for case in failed}

    def without_messages(self, code: str) -> str:
        """Return code without texts that nobody demands, such as those of exceptions."""
        return code

    @abstractmethod
    def expects_by_arguments(self, program: str, code: str) -> bool:
        """Return True if a program works out expected values from arguments."""

    @abstractmethod
    def demands_emptiness(self, program: str, code: str) -> bool:
        """Return True if a program asks for values that are empty."""

    def sets_on_modules(self, program: str) -> str:  # noqa: ARG002 - by default nothing
        """Return the place where a program sets something on a module, "" for nowhere."""
        return ""
