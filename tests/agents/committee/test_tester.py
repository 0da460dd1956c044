"""Laws of the tester, and of ``trace.py``, which keeps calls and executions."""

from collections.abc import Iterator

import pytest

from agents.committee import tester as testers
from agents.committee.configurations import CONFIGURATIONS
from agents.committee.trace import Trace
from agents.evidence import Draft
from agents.gates.outcomes import PythonRules
from agents.gates.syntax_tree_rules import JAVASCRIPT
from agents.gates.validator import OracleValidator
from agents.roles.write import BlindWriter
from infra.errors import BoxLostError
from infra.languages.javascript import JavaScript
from infra.languages.python import Python
from infra.records import ExecutionResult
from infra.settings import Configuration, GateSettings
from tests.agents.committee.test_configurations import BETTER, HOLLOW
from tests.agents.conftest import (
    ANSWERS,
    BLIND,
    GAVE_UP,
    GOOD,
    IN_DOUBT,
    Bench,
    always,
    written,
    written_blind,
)
from tests.fakes.sandbox import FAILED, PASSED, FakeBox, FakeSandbox, lacks, raised


def quick_tester(sandbox: FakeSandbox, configuration: Configuration = "spec") -> testers.Tester:
    """Return a tester that repairs nothing, and validates where the configuration has gates."""
    chosen = CONFIGURATIONS[configuration]
    validator = OracleValidator(GateSettings(), Python(), PythonRules()) if chosen.gates else None
    return testers.Tester(sandbox, Python(), chosen, 0, validator)


def breaking(results: Iterator[ExecutionResult]) -> FakeSandbox:
    """Return boxes that give the results in turn and then are lost."""

    def run(program: str, installed: frozenset[str]) -> ExecutionResult:
        for result in results:
            return result
        raise BoxLostError("gone")

    return FakeSandbox(run)


@pytest.mark.parametrize("configuration", ["spec", "executor"])
async def test_attempts_hold_each_program_in_its_last_form(
    bench: Bench, configuration: Configuration
) -> None:
    bench.serve([written_blind(), written(BETTER)])
    gates = CONFIGURATIONS[configuration].gates
    tester, trace = quick_tester(always(FAILED), configuration), Trace(bench.model())
    attempts = await tester.test(bench.pair, Draft(reading="r", program=GOOD), trace)
    programs = [GOOD, BLIND] if gates else [GOOD]
    assert [attempt.draft.program for attempt in attempts] == programs
    assert [attempt.is_valid for attempt in attempts] == [gates] * len(programs)
    assert [run.program for run in trace.executions] == programs
    assert [run.round for run in trace.executions] == list(range(len(programs)))
    assert [run.oracle for run in trace.executions] == [attempt.report for attempt in attempts]


async def test_a_run_is_kept_though_its_validation_breaks_off(bench: Bench) -> None:
    bench.serve([*IN_DOUBT, written(GOOD), ANSWERS])
    committee = bench.committee(breaking(iter([PASSED])), configuration="spec")
    annotation = await committee.judge(bench.pair)
    assert (annotation.status, annotation.path) == ("failed", "sandbox_unavailable")
    (execution,) = annotation.executions
    assert (execution.program, execution.result, execution.oracle) == (GOOD, PASSED, None)


async def test_runs_and_calls_are_kept_though_a_later_program_breaks_off(bench: Bench) -> None:
    bench.serve([*IN_DOUBT, written(HOLLOW, BETTER), ANSWERS])
    committee = bench.committee(breaking(iter([PASSED])), configuration="spec")
    annotation = await committee.judge(bench.pair)
    assert annotation.status == "failed"
    assert [run.program for run in annotation.executions] == [HOLLOW]
    assert annotation.executions[0].oracle is not None
    assert [call.role for call in annotation.calls] == ["specifier", "screener", "writer", "writer"]


async def test_pairs_that_are_judged_at_once_have_traces_of_their_own(bench: Bench) -> None:
    bench.serve([*IN_DOUBT, written(GOOD), GAVE_UP, ANSWERS])
    model = bench.model()
    first, second = Trace(model), Trace(model)
    tester = testers.Tester(always(raised()), Python(), CONFIGURATIONS["spec"], 1, None)
    await tester.test(bench.pair, Draft(reading="r", program=GOOD), first)
    assert (len(first.calls), len(first.executions)) == (1, 1)
    assert (second.calls, second.executions) == ([], [])


class Watched(FakeSandbox):
    """A sandbox that keeps its boxes."""

    def __init__(self) -> None:
        super().__init__(lambda program, installed: FAILED)
        self.boxes: list[FakeBox] = []

    def made_box(self) -> FakeBox:
        self.boxes.append(super().made_box())
        return self.boxes[-1]


async def test_no_box_is_held_while_a_model_is_asked(bench: Bench) -> None:
    bench.serve([written_blind()])
    sandbox = Watched()
    trace = Trace(bench.model())
    await quick_tester(sandbox).test(bench.pair, Draft(reading="r", program=GOOD), trace)
    (box,) = sandbox.boxes
    assert len(trace.calls) == box.releases == 1, "before the question to the blind writer"
    await BlindWriter(trace.model, Python()).write(bench.pair)
    assert box.releases == 1, "none of a pair whose box is gone"


async def test_a_program_that_lacks_ever_another_module_comes_to_an_end(bench: Bench) -> None:
    bench.serve([])
    trace, modules = Trace(bench.model()), [f"module_{number}" for number in range(30)]
    sandbox = FakeSandbox(lambda _, installed: lacks(modules[len(installed)]), modules)
    runner = testers.PairRunner(bench.pair, sandbox.made_box(), trace, None)
    attempt = await runner.run_and_validate(Draft(reading="r", program=GOOD), claims_ran=bool)
    assert attempt.draft.requirements == tuple(modules[:20])
    assert [run.result.missing_module for run in trace.executions] == modules[:21]
    assert [len(run.repairs) for run in trace.executions] == [0, *[1] * 20]


async def test_a_run_of_claims_is_kept_though_its_runs_with_other_stubs_break_off(
    bench: Bench,
) -> None:
    bench.serve([])
    trace, box = Trace(bench.model()), breaking(iter([FAILED])).made_box()
    validator = OracleValidator(GateSettings(), JavaScript(), JAVASCRIPT)
    draft = Draft(reading="r", program="p", support_code="const helper = () => 1;")
    with pytest.raises(BoxLostError):
        await testers.PairRunner(bench.pair, box, trace, validator).run_and_validate(draft, bool)
    assert [(run.result, run.oracle) for run in trace.executions] == [(FAILED, None)]
