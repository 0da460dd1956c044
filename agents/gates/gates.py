"""What makes a test program an oracle: the gates between the executor and the arbiter."""

from enum import StrEnum

from infra.records import OracleReport


class Gate(StrEnum):
    """What a test program must show before its result is evidence; the keys of the faults.

    The first five are read from its text, the others from its runs.
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
    KILLS_MUTANTS = "kills_mutants"


def reason_of(report: OracleReport) -> str:
    """Return in words why an oracle is void, for its writer and for the arbiter; "" if it is not.

    The mutants that it let live are named, since they tell what it does not test.
    """
    lines = [f"{gate}: {fault}" for gate, fault in report.faults.items()]
    if Gate.KILLS_MUTANTS in report.faults:
        lines += (
            f"a version of the code with this mistake passed as well: {change}"
            for change in report.survivors
        )
    return "\n".join(lines)


def can_be_better(report: OracleReport) -> bool:
    """Return whether another program could pass where this one failed.

    Code that gives too few mutants that run proves no program, however good.
    """
    hopeless = report.faults.keys() == {Gate.KILLS_MUTANTS} and not report.survivors
    return bool(report.faults) and not hopeless
