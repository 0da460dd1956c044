"""Test programs, their runs, and whether a run is evidence about the code under test."""

from enum import StrEnum

from infra.languages.python import joined
from infra.records import ExecutionResult, OracleReport, Record, RepairStep
from sandbox.packages import distribution_for

_LONGEST_FAULT = 300  # characters on an installation


class Draft(Record):
    """A test program before it is run, and what was done to make it executable.

    Attributes:
        reading: The reading of the query that the program tests; why there is none, without one.
        program: The Python source; "" where its writer says that no call of the code can show what
            the query asks.
        requirements: Distributions that were installed for it.
        repairs: The log of all repairs, done or in vain.
        support_code: Imports and definitions of names that the code under test lacks; checked, see
            `agents.gates.stubs`.
    """

    reading: str
    program: str
    requirements: tuple[str, ...] = ()
    repairs: tuple[RepairStep, ...] = ()
    support_code: str = ""

    def runs_like(self, other: "Draft") -> bool:
        """Return True if running this draft would repeat the other's run."""
        mine, others = (
            (draft.program, draft.requirements, draft.support_code) for draft in (self, other)
        )
        return mine == others

    def inherit_installations(self, earlier: "Draft") -> "Draft":
        """Return the draft with what was done for an earlier one of the same pair and lasts."""
        stubs = joined(earlier.support_code, self.support_code)
        return self.model_copy(update={"requirements": earlier.requirements, "support_code": stubs})

    def with_repair(
        self,
        command: str,
        output: str = "",
        *,
        ok: bool = True,
        installed: tuple[str, ...] = (),
        seconds: float = 0.0,
    ) -> "Draft":
        """Return the draft with one more entry in the log of repairs, and what it installed."""
        step = RepairStep(
            command=command[:2_000],
            ok=ok,
            output=output[-4_000:],
            installed=installed,
            seconds=seconds,
        )
        new = tuple(name for name in installed if name not in self.requirements)
        repairs, requirements = (*self.repairs, step), (*self.requirements, *new)
        return self.model_copy(update={"repairs": repairs, "requirements": requirements})


class RunOutcome(StrEnum):
    """The end of a run, and the cause of a failure.

    ``CODE_RAISED`` is an exception of the code's own logic where a value was demanded;
    ``DEPENDENCY_MISSING`` one because of what is missing around code or program; ``STOPPED`` is
    every end at a limit or without a report; ``TEST_AT_FAULT`` is an error of the program itself.
    """

    PASSED = "passed"
    FAILED_ASSERTION = "failed_assertion"
    CODE_RAISED = "code_raised"
    DEPENDENCY_MISSING = "dependency_missing"
    STOPPED = "stopped"
    TEST_AT_FAULT = "test_at_fault"


class RunEvidence(StrEnum):
    """The evidence of a run about the code under test.

    ``CODE_RAISED`` is said only where failures are attributed.
    """

    PASSED = "passed"
    TESTED_NOTHING = "tested_nothing"
    FAILED_ASSERTION = "failed_assertion"
    CODE_RAISED = "code_raised"
    NOT_EXECUTED = "not_executed"


_AGAINST_THE_CODE = (RunEvidence.FAILED_ASSERTION, RunEvidence.CODE_RAISED)


def run_evidence(result: ExecutionResult) -> RunEvidence:
    """Return the evidence of a run; only an assertion about the code that was reached counts."""
    if result.outcome == "assertion_failed":
        return RunEvidence.FAILED_ASSERTION
    if result.outcome != "passed":
        return RunEvidence.NOT_EXECUTED
    tested = result.asserts_executed and result.target_calls
    return RunEvidence.PASSED if tested else RunEvidence.TESTED_NOTHING


def evidence_of(result: ExecutionResult, outcome: RunOutcome | None) -> RunEvidence:
    """Return a run's evidence by its outcome; as `run_evidence` where failures are not attributed.

    Args:
        result: The run.
        outcome: How it ended; None where failures are not attributed.
    """
    if outcome is None or outcome is RunOutcome.PASSED:
        return run_evidence(result)
    counts = outcome in (RunOutcome.FAILED_ASSERTION, RunOutcome.CODE_RAISED)
    return RunEvidence(outcome) if counts else RunEvidence.NOT_EXECUTED


def was_executed(result: ExecutionResult) -> bool:
    """Return True if a program ran to its end or to a failing assertion."""
    return run_evidence(result) is not RunEvidence.NOT_EXECUTED


class Attempt(Record):
    """A test program in its last form, with its last run.

    Attributes:
        draft: The program.
        result: Its last run, real or simulated; None where nothing ran.
        report: What the gates found; None where they are off or it was not executed.
        is_fixed: Whether the fixer changed it, or what is installed, before this run.
        is_simulated: Whether a model predicted the result.
        outcome: How the run ended; None where failures are not attributed.
        by_stubs: Tests of claims that failed by what an agent put beside the code.
    """

    draft: Draft
    result: ExecutionResult | None = None
    report: OracleReport | None = None
    is_fixed: bool = False
    is_simulated: bool = False
    outcome: RunOutcome | None = None
    by_stubs: frozenset[str] = frozenset()

    @property
    def evidence(self) -> RunEvidence:
        """The run's evidence about the code."""
        if self.result is None:
            return RunEvidence.NOT_EXECUTED
        if self.is_simulated and self.result.outcome == "passed":
            return RunEvidence.PASSED  # a simulated run has no counts
        return evidence_of(self.result, self.outcome)

    @property
    def is_repairable(self) -> bool:
        """Return True if the fixer may help; not with failures that are attributed to the code."""
        if self.result is None:
            return False
        if self.outcome is None:
            return not was_executed(self.result)
        return self.outcome in (RunOutcome.DEPENDENCY_MISSING, RunOutcome.TEST_AT_FAULT)

    @property
    def is_valid_failure(self) -> bool:
        """Return True if a program that passed every gate speaks against the code."""
        return self.is_valid and self.evidence in _AGAINST_THE_CODE

    @property
    def is_valid(self) -> bool:
        """Return True if the program was executed and passed every gate."""
        return self.report is not None and not self.report.faults


def missing_requirement(draft: Draft, result: ExecutionResult) -> str | None:
    """Return the distribution that a run lacked, None if it was installed or tried already."""
    module = result.missing_module
    if not module or module == "target":
        return None
    requirement = distribution_for(module)
    is_tried = _installation_of(module, draft) is not None
    return None if is_tried or requirement in draft.requirements else requirement


def installation_fault(draft: Draft, result: ExecutionResult) -> str:
    """Return why the module that a run lacked could not be installed, "" where none was lacking."""
    step = _installation_of(result.missing_module or "", draft)
    failed = f"{step.command} failed: {' '.join(step.output.split())}" if step else ""
    return "" if step is None or step.ok else failed[:_LONGEST_FAULT]


def _installation_of(module: str, draft: Draft) -> RepairStep | None:
    requirement = distribution_for(module)
    commands = (f"install {requirement}", f"pip install {requirement}")
    return next((step for step in draft.repairs if step.command in commands), None)
