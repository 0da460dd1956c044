"""Laws of the arbiter, of ``read.py`` and ``base.py``, and of what ``evidence.py`` concludes.

The other roles are held by ``tests/agents/committee/test_algorithm.py``.
"""

import json
from typing import Any

import pytest

from agents.evidence import Attempt, Draft, RunEvidence
from agents.roles.judge import Arbiter
from agents.roles.read import Simulator
from infra.records import ExecutionResult, Pair
from tests.agents.conftest import Bench, rule
from tests.fakes.sandbox import FAILED, HOLLOW, PASSED, raised

DRAFT = Draft(reading="r", program="assert 1")
JUDGED = rule("arbiter", {"reply": {"reason": "r", "verdict": "answers"}})
COUNTS = ("tests_run", "asserts_executed", "target_calls")


async def message(bench: Bench, pair: Pair, *attempts: Attempt) -> str:
    """Return what the arbiter is shown."""
    await Arbiter(bench.model()).judge(pair, attempts)
    return str(bench.server.calls[-1]["messages"][1]["content"])


def report_in(shown: str) -> dict[str, Any]:
    """Return the report of a run in a message."""
    opening, _, rest = shown.partition("<<<report ")[2].partition("\n")
    loaded: dict[str, Any] = json.loads(rest.partition(f"\n{opening}>>>")[0])
    return loaded


@pytest.mark.parametrize("outcome", ["passed", "assertion_failed", "raised"])
async def test_a_simulated_report_leaves_out_what_nobody_counted(
    bench: Bench, pair: Pair, outcome: str
) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": outcome, "message": "m"}}), JUDGED])
    result = await Simulator(bench.model()).run(pair, DRAFT)
    assert [getattr(result, name) for name in COUNTS] == [None, None, None]
    shown = await message(bench, pair, Attempt(draft=DRAFT, result=result, is_simulated=True))
    assert report_in(shown) == {"outcome": outcome, "error_type": "", "message": "m"}


@pytest.mark.parametrize(("outcome", "result"), [("passed", PASSED), ("assertion_failed", FAILED)])
async def test_the_arbiter_is_told_the_same_of_a_simulated_run_as_of_a_real_one(
    bench: Bench, pair: Pair, outcome: str, result: ExecutionResult
) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": outcome, "message": "m"}}), JUDGED])
    simulated = await Simulator(bench.model()).run(pair, DRAFT)
    attempts = (
        Attempt(draft=DRAFT, result=simulated, is_simulated=True),
        Attempt(draft=DRAFT, result=result),
    )
    shown = [(await message(bench, pair, attempt)).rpartition(">>>\n")[2] for attempt in attempts]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("result", [PASSED, FAILED, HOLLOW, raised()])
async def test_a_real_report_has_its_counts_also_where_they_are_0(
    bench: Bench, pair: Pair, result: ExecutionResult
) -> None:
    bench.serve([JUDGED])
    report = report_in(await message(bench, pair, Attempt(draft=DRAFT, result=result)))
    assert {name: report[name] for name in COUNTS} == result.model_dump(include=set(COUNTS))


@pytest.mark.parametrize(
    ("outcome", "evidence"),
    [
        ("passed", RunEvidence.PASSED),
        ("assertion_failed", RunEvidence.FAILED_ASSERTION),
        ("raised", RunEvidence.NOT_EXECUTED),
    ],
)
async def test_a_simulated_pass_counts_as_one_though_nothing_was_counted(
    bench: Bench, pair: Pair, outcome: str, evidence: RunEvidence
) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": outcome, "message": ""}})])
    result = await Simulator(bench.model()).run(pair, DRAFT)
    assert Attempt(draft=DRAFT, result=result, is_simulated=True).evidence is evidence
