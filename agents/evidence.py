"""What is gathered while a pair is judged, and what a run of a test program is worth."""

from dataclasses import dataclass, field
from enum import StrEnum

from infra.records import Execution, ExecutionResult, LanguageModelCall, OracleReport, Record


@dataclass
class Evidence:
    """Every call and every execution for one pair, in order; kept also when judging breaks off."""

    calls: list[LanguageModelCall] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)


class Draft(Record):
    """A test program on its way to being executable.

    Attributes:
        reading: The reading of the query that the program tests.
        program: The Python source.
        requirements: Distributions that were installed for it.
        attempts: What was tried in vain, for the fixer to see.
    """

    reading: str
    program: str
    requirements: tuple[str, ...] = ()
    attempts: tuple[str, ...] = ()

    def runs_like(self, other: "Draft") -> bool:
        """Return whether running this draft would repeat the other's run."""
        return (self.program, self.requirements) == (other.program, other.requirements)


class Standing(StrEnum):
    """What a run says about the code under test."""

    PASSED = "passed"
    TESTED_NOTHING = "tested_nothing"
    FAILED_ASSERTION = "failed_assertion"
    NOT_EXECUTED = "not_executed"


class Tested(Record):
    """A test program and what became of it.

    Attributes:
        draft: The program in its last form.
        result: What its last run, real or imagined, brought; None where nothing ran.
        mended: Whether it needed mending before it ran to its end.
        oracle: What the gates found; None where they are off or it did not run to its end.
        imagined: Whether a model made the result up.
    """

    draft: Draft
    result: ExecutionResult | None = None
    mended: bool = False
    oracle: OracleReport | None = None
    imagined: bool = False

    @property
    def standing(self) -> "Standing":
        """What the run says about the code."""
        return standing_of(self.result) if self.result else Standing.NOT_EXECUTED

    @property
    def is_valid(self) -> bool:
        """Whether the program ran and passed every gate."""
        return self.oracle is not None and not self.oracle.faults


def standing_of(result: ExecutionResult) -> Standing:
    """Return what a run is worth: only a reached assertion about the code is evidence."""
    if result.outcome == "assertion_failed":
        return Standing.FAILED_ASSERTION
    if result.outcome != "passed":
        return Standing.NOT_EXECUTED
    tested = result.asserts_executed and result.target_calls
    return Standing.PASSED if tested else Standing.TESTED_NOTHING
