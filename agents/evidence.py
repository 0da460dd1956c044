"""Test programs, their runs, and whether a run is evidence about the code under test."""

from enum import StrEnum
from typing import Literal

from infra.records import ExecutionResult, OracleReport, Record, RepairStep

_LONGEST_PROBLEM = 300  # characters of a failed fix in a prompt


class FailedFix(Record):
    """A repair that did not work.

    Attributes:
        action: The kind of repair.
        content: The distribution or the import lines; "" for a whole program.
        problem: Why it was not done.
    """

    action: Literal["install", "add_import", "replace_program"]
    content: str = ""
    problem: str

    @property
    def description(self) -> str:
        """The repair and its problem on one line, for the fixer's prompt."""
        repair = f"{self.action} {self.content}" if self.content else self.action
        return f"{repair}: {self.problem}"[:_LONGEST_PROBLEM]


class Draft(Record):
    """A test program before it is run, and what was done to make it executable.

    Attributes:
        reading: The reading of the query that the program tests.
        program: The Python source.
        requirements: Distributions that were installed for it.
        failed_fixes: Repairs that did not work.
        repairs: The log of all repairs, tried or done.
    """

    reading: str
    program: str
    requirements: tuple[str, ...] = ()
    failed_fixes: tuple[FailedFix, ...] = ()
    repairs: tuple[RepairStep, ...] = ()

    def runs_like(self, other: "Draft") -> bool:
        """Return whether running this draft would repeat the other's run."""
        return (self.program, self.requirements) == (other.program, other.requirements)

    def without_success(self, fix: FailedFix) -> "Draft":
        """Return the draft with one more failed fix."""
        failed = self.model_copy(update={"failed_fixes": (*self.failed_fixes, fix)})
        return failed.with_repair(fix.description, fix.problem, ok=False)

    def with_repair(self, command: str, output: str = "", *, ok: bool = True) -> "Draft":
        """Return the draft with one more entry in the log of repairs."""
        step = RepairStep(command=command[:2_000], ok=ok, output=output[-4_000:])
        return self.model_copy(update={"repairs": (*self.repairs, step)})


class RunEvidence(StrEnum):
    """What a run says about the code under test."""

    PASSED = "passed"
    TESTED_NOTHING = "tested_nothing"
    FAILED_ASSERTION = "failed_assertion"
    NOT_EXECUTED = "not_executed"


def run_evidence(result: ExecutionResult) -> RunEvidence:
    """Return what a run says; only an assertion about the code that was reached is evidence."""
    if result.outcome == "assertion_failed":
        return RunEvidence.FAILED_ASSERTION
    if result.outcome != "passed":
        return RunEvidence.NOT_EXECUTED
    tested = result.asserts_executed and result.target_calls
    return RunEvidence.PASSED if tested else RunEvidence.TESTED_NOTHING


def was_executed(result: ExecutionResult) -> bool:
    """Return whether a program ran to its end or to a failing assertion."""
    return run_evidence(result) is not RunEvidence.NOT_EXECUTED


class Attempt(Record):
    """A test program in its last form, with its last run.

    Attributes:
        draft: The program.
        result: Its last run, real or simulated; None where nothing ran.
        report: What the gates found; None where they are off or it was not executed.
        is_fixed: Whether the fixer changed it, or what is installed, before this run.
        is_simulated: Whether a model predicted the result.
    """

    draft: Draft
    result: ExecutionResult | None = None
    report: OracleReport | None = None
    is_fixed: bool = False
    is_simulated: bool = False

    @property
    def evidence(self) -> RunEvidence:
        """What the run says about the code."""
        if self.result is None:
            return RunEvidence.NOT_EXECUTED
        if self.is_simulated and self.result.outcome == "passed":
            return RunEvidence.PASSED  # a simulated run has no counts
        return run_evidence(self.result)

    @property
    def is_valid(self) -> bool:
        """Whether the program was executed and passed every gate."""
        return self.report is not None and not self.report.faults
