"""The gates on a table of test programs, in the real sandbox."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from agents.evidence import Draft
from agents.gates.gates import Gate, reason_of
from agents.gates.validator import OracleValidator
from infra.languages.python import Python
from infra.languages.python.mutation import mutants_of
from infra.languages.python.scaffolding import scaffolded
from infra.records import Code, ExecutionResult, MutantRun, OracleReport, Pair, Query
from infra.settings import GateSettings, SandboxSettings
from sandbox.base import Sandbox
from tests.agents.gates.oracle_cases import CASES, Case
from tests.fakes.sandbox import FAILED, HOLLOW, PASSED, FakeBox, raised
from tests.real_sandbox import real_sandbox

LIMITS = SandboxSettings(slots=2, memory_mb=192, timeout_s=2.0, tmp_mb=16, output_kb=8)
VALIDATOR = OracleValidator(GateSettings(mutant_timeout_s=1.0), Python())
GOOD = CASES[0]
TINY = next(case for case in CASES if case.name == "a getter of one line")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with real_sandbox(LIMITS) as made:
        yield made


def draft_of(case: Case) -> tuple[Pair, Draft]:
    pair = Pair(query=Query.of("a query"), code=Code.of(case.code))
    return pair, Draft(reading="r", program=case.program)


async def inspected(case: Case, box: FakeBox) -> OracleReport:
    pair, draft = draft_of(case)
    return await VALIDATOR.validate(pair, draft, await box.run(draft.program), box)


def answering(result: ExecutionResult, on_mutant: ExecutionResult = FAILED) -> FakeBox:
    return FakeBox(lambda program, installed: result, frozenset(), on_mutant)


@pytest.mark.docker
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_right_gate_stops_each_program(case: Case, sandbox: Sandbox) -> None:
    pair, draft = draft_of(case)
    async with sandbox.box(scaffolded(pair.code.text)) as box:
        result = await box.run(draft.program)
        report = await VALIDATOR.validate(pair, draft, result, box)
    assert next(iter(report.faults), None) == case.gate, (result, report)


def test_the_table_has_programs_for_every_gate() -> None:
    tally = Counter(case.gate for case in CASES)
    assert set(tally) == {None, *Gate}
    assert len({case.name for case in CASES}) == len(CASES) >= 40


async def test_a_program_that_fails_on_the_code_itself_meets_no_mutants() -> None:
    report = await inspected(GOOD, answering(FAILED))
    assert report == OracleReport()


async def test_a_program_that_the_gates_stop_earlier_meets_no_mutants() -> None:
    report = await inspected(GOOD, answering(HOLLOW))
    assert set(report.faults) == {Gate.CALLS_TARGET, Gate.EXECUTES_ASSERTS}
    assert report.trials == ()


@pytest.mark.parametrize("outcome", ["raised", "timeout", "memory", "killed"])
async def test_a_mutant_that_does_not_run_to_its_end_is_left_out_of_the_score(outcome: str) -> None:
    dead = ExecutionResult.model_validate({"outcome": outcome})
    report = await inspected(GOOD, answering(PASSED, on_mutant=dead))
    assert report.trials
    assert (report.killed, report.survivors, report.mutation_score) == (0, (), None)
    assert set(report.faults) == {Gate.KILLS_MUTANTS}


@pytest.mark.parametrize(
    ("killed", "survived", "score", "valid"),
    [(2, 2, 0.5, True), (2, 3, 0.4, False), (1, 0, 1.0, False), (3, 0, 1.0, True)],
)
def test_at_least_two_mutants_and_half_of_them_must_fall(
    killed: int, survived: int, score: float, valid: bool
) -> None:
    fallen = [MutantRun(change="a", outcome="assertion_failed")] * killed
    report = OracleReport(trials=(*fallen, *[MutantRun(change="b", outcome="passed")] * survived))
    assert report.mutation_score == score
    assert (VALIDATOR._faults_of_mutant_runs(report) == {}) is valid


async def test_surviving_mutants_are_told_by_their_mistakes() -> None:
    report = await inspected(GOOD, answering(PASSED, on_mutant=PASSED))
    reason = reason_of(report)
    assert "only 0 of" in reason
    assert "line 3: value < low → value <= low" in reason
    assert reason_of(OracleReport()) == ""


async def test_a_program_that_ends_otherwise_under_another_hash_seed_is_no_oracle() -> None:
    results = iter([PASSED, raised("KeyError")])
    box = FakeBox(lambda program, installed: next(results), frozenset())
    report = await inspected(GOOD, box)
    assert report.faults == {
        Gate.REPEATS: "two runs differ: passed with 3 asserts, then raised with 0"
    }


async def test_code_with_one_mutant_that_runs_is_tried_with_strong_ones_too() -> None:
    report = await inspected(
        TINY, InTurn("raised", "assertion_failed", "passed", "assertion_failed")
    )
    assert len(report.trials) == 4
    assert (report.killed, report.judged, report.faults) == (2, 3, {})


async def test_a_program_that_fails_no_strong_mutant_either_is_void() -> None:
    report = await inspected(TINY, InTurn("raised", "assertion_failed"))
    assert len(report.survivors) >= 2
    assert set(report.faults) == {Gate.KILLS_MUTANTS}


async def test_code_with_enough_mutants_that_run_meets_no_strong_ones() -> None:
    report = await inspected(GOOD, InTurn("assertion_failed"))
    assert len(report.trials) == len(mutants_of(GOOD.code, GateSettings().mutants))
    assert report.killed == 1


class InTurn(FakeBox):
    """A box where mutants end one after the other as told, and all others pass."""

    def __init__(self, *outcomes: str) -> None:
        super().__init__(lambda program, installed: PASSED, frozenset())
        self._outcomes = iter(outcomes)

    async def run(self, program: str, *, code: str | None = None, **limits: Any) -> ExecutionResult:
        """Return the next end."""
        if code is None:
            return PASSED
        return ExecutionResult.model_validate({"outcome": next(self._outcomes, "passed")})
