"""Records of test programs' runs, and the base of all records."""

from math import sqrt
from statistics import NormalDist
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_CASES = 100  # tests of a program whose outcomes are kept


class Record(BaseModel):
    """Base of all records.

    Attributes:
        added: Later fields, which digests pass over where they are empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    added: ClassVar[frozenset[str]] = frozenset()


Outcome = Literal[
    "passed",
    "assertion_failed",
    "raised",
    "import_error",
    "timeout",
    "memory",
    "output_limit",
    "killed",
]


class CaseResult(Record):
    """The end of one test of a program: a ``test*`` function or a method of a test case.

    Its name has the class's before a full stop. The entry named as the program's file is the
    program's own call of its tests, where that failed.
    """

    name: str = Field(max_length=200)
    outcome: Literal["passed", "assertion_failed", "raised", "import_error", "memory"]
    error_type: str = Field("", max_length=200)
    message: str = Field("", max_length=600)
    traceback: str = Field("", max_length=1_500)


class ExecutionResult(Record):
    """The end of a program in a box, as the harness saw it, not as printed text says.

    After a test that fails, the others are run all the same. Then the whole has the outcome of its
    gravest failure, which the fields about the error describe: ``memory``, then ``import_error``,
    since what is missing can be installed, then ``assertion_failed``, then ``raised``; of equal
    ones the first.

    Attributes:
        outcome: ``passed`` needs an intact report from the runner: the program ran to its end and
            nothing was raised. ``killed`` covers every end without a report.
        error_type: Name of the exception's type, for ``raised`` and the like.
        message: The exception's message, or what ended the program.
        missing_module: The top-level module of an ``import_error``.
        seconds: Wall time inside the box.
        peak_memory_mb: Highest resident size, or None where unknown.
        tests_run: ``test*`` functions that were called; None, as the two below, for a simulated
            run.
        asserts_executed: Assert statements reached, whether they held or not.
        target_calls: Calls of functions of the code under test.
        tests: The outcome of each test, in the order of the program, of the first hundred; empty
            where the program failed before its tests or was cut off.
    """

    outcome: Outcome
    error_type: str = Field("", max_length=500)
    message: str = Field("", max_length=10_000)
    missing_module: str = Field("", max_length=500)
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    peak_memory_mb: float | None = Field(None, ge=0, allow_inf_nan=False)
    stdout: str = ""
    stderr: str = ""
    tests_run: int | None = Field(0, ge=0, lt=2**31)
    asserts_executed: int | None = Field(0, ge=0, lt=2**31)
    target_calls: int | None = Field(0, ge=0, lt=2**31)
    # At the first fault no further one is looked for: a report may be a stranger's.
    tests: tuple[CaseResult, ...] = Field((), max_length=MOST_CASES, fail_fast=True)


class MutantRun(Record):
    """A test program's run against a mutant: the code under test with one mistake.

    It is ``assertion_failed`` too where the mutant's value made a line of the program itself raise.
    """

    change: str
    outcome: Outcome


class OracleReport(Record):
    """The gates' findings in a test program that ran.

    Attributes:
        faults: Gate that the program failed → its fault.
        trials: Its runs against mutants (the name is that of the stored field); none where it
            failed a gate before, or fails on the code itself.
        protection: What kept the code under test from forging a program's success: ``separate``
            where it passes too with the code in a process of its own, ``shared`` where that cannot
            be done; "" where it was not tried.
        unprotected_because: Why it cannot be done, for ``shared``.
    """

    added: ClassVar[frozenset[str]] = frozenset({"protection", "unprotected_because"})

    faults: dict[str, str] = Field(default_factory=dict)
    trials: tuple[MutantRun, ...] = ()
    protection: Literal["", "separate", "shared"] = ""
    unprotected_because: str = Field("", max_length=500)

    @property
    def killed(self) -> int:
        """Number of mutants that failed an assertion."""
        return sum(run.outcome == "assertion_failed" for run in self.trials)

    @property
    def survivors(self) -> tuple[str, ...]:
        """The mistakes that the program did not notice."""
        return tuple(run.change for run in self.trials if run.outcome == "passed")

    @property
    def judged(self) -> int:
        """Number of mutants that ran to an end; one that raises or hangs dies to any call."""
        return self.killed + len(self.survivors)

    @property
    def mutation_interval(self) -> tuple[float, float] | None:
        """The 80% confidence interval (Wilson, 1927) of the mutation score, None without any.

        The score is the share of killed mutants among those that ran to an end.
        """
        if not self.judged:
            return None
        n, z = self.judged, NormalDist().inv_cdf(0.9)
        share, spread = self.killed / n, 1 + z * z / n
        middle = (share + z * z / (2 * n)) / spread
        half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / spread
        return max(middle - half, 0.0), min(middle + half, 1.0)


class RepairStep(Record):
    """A terminal command or another repair by which a fixer tried to make a program executable."""

    command: str = Field(max_length=2_000)  # or the kind of repair and its content
    ok: bool
    output: str = Field("", max_length=4_000)  # its end, or why the repair was not done
    installed: tuple[str, ...] = ()  # requirements
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)


class Execution(Record):
    """One run of one test program for a pair; round 0 is the writer's own program.

    ``oracle`` is None where the gates are off or the program could not be run to its end.
    ``repairs`` is what was done between the program's run before and this one, and in vain after
    it where no further one came. ``beside`` has the imports and definitions that an agent put
    before the code, which lacks their names.
    """

    round: int = Field(ge=0)
    program: str
    beside: str = ""
    requirements: tuple[str, ...] = ()
    result: ExecutionResult
    oracle: OracleReport | None = None
    repairs: tuple[RepairStep, ...] = ()
