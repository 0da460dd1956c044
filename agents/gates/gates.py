"""The gates, which a test program must pass to count as evidence, and texts about their faults."""

from enum import StrEnum

from infra.records import OracleReport


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

    Surviving mutants are named, since they show what it does not test.
    """
    lines = list(report.faults.values())
    if Gate.KILLS_MUTANTS in report.faults:
        lines += (
            f"a version of the code with this mistake passed as well: {change}"
            for change in report.survivors
        )
    return "\n".join(lines)


def can_be_improved(report: OracleReport) -> bool:
    """Return whether another program could pass where this one failed.

    Code with too few mutants that run validates no program, however good.
    """
    too_few_mutants = report.faults.keys() == {Gate.KILLS_MUTANTS} and not report.survivors
    return bool(report.faults) and not too_few_mutants
