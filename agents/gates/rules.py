"""What the gates ask of a program's language: how texts are checked and ends of runs are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agents.evidence import RunOutcome
from agents.gates import outcomes
from agents.gates.arguments import expects_by_arguments
from agents.gates.dialects import GO, JAVASCRIPT, Dialect
from agents.gates.gates import Gate
from agents.gates.static_checks import demands_emptiness, faults_of, sets_on_target
from infra.languages._programs import without_messages
from infra.records import ExecutionResult


@dataclass(frozen=True)
class Rules:
    """The rules of one language; by default there is nothing to find.

    Attributes:
        faults_of: Program and code → the gates that the program fails by its text.
        outcome_of: Run, program, code and what stands beside it → how the run ended.
        outcomes_of_tests: The same → test → how it ended, of the tests that failed.
        raised_in_program: Whether an exception of a run came out of the program itself.
        without_messages: Code without texts that nobody demands, such as those of exceptions.
        expects_by_arguments: Whether a program works out expected values from arguments.
        sets_on_target: Where a program sets a name of the code, "" for nowhere.
        demands_emptiness: Whether a program asks for values that are empty.
    """

    faults_of: Callable[[str, str], dict[Gate, str]]
    outcome_of: Callable[[ExecutionResult, str, str, str], RunOutcome]
    outcomes_of_tests: Callable[[ExecutionResult, str, str, str], Mapping[str, RunOutcome]]
    raised_in_program: Callable[[ExecutionResult], bool]
    without_messages: Callable[[str], str] = str
    expects_by_arguments: Callable[[str], bool] = lambda _: False
    sets_on_target: Callable[[str], str] = lambda _: ""
    demands_emptiness: Callable[[str], bool] = lambda _: True


def _rules_of(dialect: Dialect) -> Rules:
    return Rules(
        dialect.faults_of, dialect.outcome_of, dialect.outcomes_of_tests, dialect.raised_in_program
    )


RULES = {
    "python": Rules(
        faults_of,
        outcomes.outcome_of,
        outcomes.outcomes_of_tests,
        outcomes.raised_in_program,
        without_messages,
        expects_by_arguments,
        sets_on_target,
        demands_emptiness,
    ),
    "javascript": _rules_of(JAVASCRIPT),
    "go": _rules_of(GO),
}
