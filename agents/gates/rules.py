"""What the gates ask of a program's language: checks of its text, and how its runs ended."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from agents.evidence import RunOutcome
from agents.gates.gates import Gate
from infra.records import CaseResult, ExecutionResult

# A run and the test that failed, None for a failure outside of tests → how that ended.
Attribution = Callable[[ExecutionResult, CaseResult | None], RunOutcome]
_BY_WEIGHT = (
    RunOutcome.FAILED_ASSERTION,
    RunOutcome.DEPENDENCY_MISSING,
    RunOutcome.CODE_RAISED,
    RunOutcome.STOPPED,
    RunOutcome.TEST_AT_FAULT,
)


class Rules(ABC):
    """The rules of one language; by default there is nothing to find in a program's text."""

    @abstractmethod
    def faults_of(self, program: str, code: str) -> dict[Gate, str]:
        """Return the gates that the program fails by its text alone, with what is wrong."""

    @abstractmethod
    def attribution(self, program: str, code: str, stubs: str) -> Attribution:
        """Return what attributes failures of a program on code that has stubs."""

    @abstractmethod
    def raised_in_program(self, result: ExecutionResult) -> bool:
        """Return whether an exception of a run came out of a line of the program itself."""

    def outcome_of(
        self, result: ExecutionResult, program: str, code: str, stubs: str = ""
    ) -> RunOutcome:
        """Return how a run ended; of several failures the one that decides what is done next.

        A failed assertion stands whatever else failed, as in the result; where no assertion failed,
        what is missing comes before what the code raised, which it may have caused.

        Args:
            result: The run.
            program: The test program.
            code: The code under test.
            stubs: What an agent put before the code, of which an error is none of the code's.
        """
        if result.outcome == "passed":
            return RunOutcome.PASSED
        if result.outcome == "import_error":
            return RunOutcome.DEPENDENCY_MISSING
        if result.outcome not in ("raised", "assertion_failed"):
            return RunOutcome.STOPPED
        attributed = self.attribution(program, code, stubs)
        ends = [attributed(result, case) for case in result.tests if case.outcome != "passed"]
        return min(ends or [attributed(result, None)], key=_BY_WEIGHT.index)

    def outcomes_of_tests(
        self, result: ExecutionResult, program: str, code: str, stubs: str = ""
    ) -> Mapping[str, RunOutcome]:
        """Return test → how it ended, of the tests that failed; arguments as of `outcome_of`."""
        attributed = self.attribution(program, code, stubs)
        failed = (case for case in result.tests if case.outcome != "passed")
        return {case.name: attributed(result, case) for case in failed}

    def without_messages(self, code: str) -> str:
        """Return code without texts that nobody demands, such as those of exceptions."""
        return code

    def expects_by_arguments(self, program: str) -> bool:  # noqa: ARG002 - by default nothing
        """Return whether a program works out expected values from arguments."""
        return False

    def sets_on_target(self, program: str) -> str:  # noqa: ARG002 - as above
        """Return where a program sets a name of the code, "" for nowhere."""
        return ""

    def demands_emptiness(self, program: str) -> bool:  # noqa: ARG002 - as above
        """Return whether a program asks for values that are empty."""
        return True
