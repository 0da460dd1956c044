"""Laws of written answers: parsed here, run in boxes alone, and refused with a reason.

Covers `agents.roles.write`.
"""

from pathlib import Path

import pytest

from agents.committee.generation import WrittenAnswer, written_answer
from agents.roles.write import RefusedCode
from infra.errors import ModelUnavailableError
from infra.records import ExecutionResult, Query
from tests.agents.conftest import (
    ANSWERS,
    FALLS_SHORT,
    GOOD,
    IN_DOUBT,
    SPECIFIED,
    Bench,
    always,
    rule,
    written,
)
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox
from tests.fakes.specified import SCREENING, claims_run

QUERY = Query.of("python reverse a string")
CODE = "def backwards(text):\n    return text[::-1]"


async def answer(
    bench: Bench,
    code: str,
    verdict: dict[str, object] = ANSWERS,
    result: ExecutionResult = PASSED,
    refused: tuple[RefusedCode, ...] = (),
    *,
    snippets: bool = False,
) -> tuple[WrittenAnswer | None, int]:
    """Return what became of a written answer, and how many boxes it took."""
    blind = rule("blind_writer", {"reply": {"reading": "r", "program": GOOD}})
    by_program = [*IN_DOUBT, written(GOOD), blind, verdict]
    bench.serve([rule("code_writer", {"reply": {"code": code}}), *by_program])
    sandbox = always(result)
    committee = bench.committee(sandbox, configuration="spec", evidence="all")
    found = await written_answer(QUERY, refused, bench.model(), committee, snippets=snippets)
    return found, sandbox.made


@pytest.mark.parametrize("reply", [CODE, f"\n{CODE}\n", f"```python\n{CODE}\n```"])
async def test_an_answer_is_tested_in_a_box_whichever_way_it_was_written(
    bench: Bench, reply: str
) -> None:
    found, boxes = await answer(bench, reply)
    assert found is not None
    assert (found.status, found.code.text, boxes) == ("verified", CODE, 1)
    assert [call.role for call in found.calls] == ["code_writer"]
    assert found.annotation is not None
    assert found.annotation.support == "valid_oracle"


@pytest.mark.parametrize(
    ("given", "status"), [({}, "verified"), ({"'abc'": "'abc'", "'aab'": "'aab'"}, "refused")]
)
async def test_claims_that_can_be_run_decide_without_a_program(
    bench: Bench, given: dict[str, str], status: str
) -> None:
    verdict = "unclear_behaviour"
    screening = rule("screener", {"reply": SCREENING | {"verdict": verdict, "call": ""}})
    values = ({"reply": {"reason": "r", "value": value}} for value in ("'cba'", "'baa'"))
    writes = rule("code_writer", {"reply": {"code": CODE}})
    bench.serve([writes, SPECIFIED, screening, rule("value_reader", *values)])
    committee = bench.committee(FakeSandbox(claims_run(given)), configuration="spec")
    found = await written_answer(QUERY, (), bench.model(), committee)
    assert found is not None
    assert found.annotation is not None
    assert (found.status, found.annotation.decided_by) == (status, "claims")
    assert found.annotation.executions


async def test_what_the_agents_refuse_is_refused_with_their_reason(bench: Bench) -> None:
    found, _ = await answer(bench, CODE, FALLS_SHORT, FAILED)
    assert found is not None
    assert (found.status, found.reason) == ("refused", "it fails")


@pytest.mark.parametrize(
    ("code", "why"), [("def f(:", "does not parse"), ("print(1)", "defines no function")]
)
async def test_what_is_no_function_is_refused_before_anybody_is_asked(
    bench: Bench, code: str, why: str
) -> None:
    found, boxes = await answer(bench, code)
    assert found is not None
    assert (found.status, boxes, len(bench.server.calls)) == ("refused", 0, 1)
    assert why in found.reason


@pytest.mark.parametrize(
    ("code", "status"), [("print(1)", "verified"), ("# nothing", "refused"), ("f(:", "refused")]
)
async def test_among_snippets_an_answer_needs_no_function(
    bench: Bench, code: str, status: str
) -> None:
    found, _ = await answer(bench, code, snippets=True)
    assert found is not None
    assert found.status == status
    assert "snippet" in bench.server.calls[0]["messages"][1]["content"]


async def test_the_next_answer_is_asked_for_with_those_before_and_what_was_wrong(
    bench: Bench,
) -> None:
    earlier = RefusedCode("def backwards(text):\n    return text", "it returns the text itself")
    await answer(bench, CODE, refused=(earlier,))
    said = bench.server.calls[0]["messages"][1]["content"]
    assert all(text in said for text in (QUERY.text, earlier.code, earlier.reason, "better"))


async def test_nothing_written_is_no_answer(bench: Bench) -> None:
    assert await answer(bench, "  ") == (None, 0)


async def test_an_answer_that_cannot_be_verified_is_not_refused(bench: Bench) -> None:
    unavailable = rule("exact_judge", {"status": 503})
    bench.serve([rule("code_writer", {"reply": {"code": CODE}}), unavailable])
    committee = bench.committee(always(PASSED), configuration="single")
    with pytest.raises(ModelUnavailableError, match="not verified"):
        await written_answer(QUERY, (), bench.model(), committee)


async def test_an_answer_never_runs_in_this_process(bench: Bench, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    hostile = f"import pathlib\npathlib.Path({str(trap)!r}).touch()\n{CODE}"
    found, _ = await answer(bench, hostile)
    assert found is not None
    assert not trap.exists()
