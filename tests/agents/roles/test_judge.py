"""Laws of the judges and the arbiter: their criteria, their steps, and the report that is read.

Covers `agents.evidence`, `agents.roles.read`, `agents.roles`; and `infra.records`, of whose
records a report is made. The other roles are held by ``tests/agents/committee/test_algorithm.py``.
"""

import json
from typing import Any

import pytest

from agents.evidence import Attempt, Draft, RunEvidence
from agents.llm.prompt import system_text
from agents.llm.structured_output import schema_of
from agents.roles.judge import Arbiter, run_report
from agents.roles.read import ExactJudge, HalfJudge, Simulator
from infra.records import MOST_CASES, CaseResult, ExecutionResult, RepairStep
from infra.settings import SandboxSettings
from tests.agents.conftest import Bench, rule
from tests.fakes.sandbox import FAILED, HOLLOW, PASSED, raised
from tests.real_sandbox import real_sandbox

GUIDELINES = {
    "exact_judge": "it meets most of the demand but misses a category of it",
    "half_judge": "meets a category of the demand that makes up half of it or more",
}


@pytest.mark.parametrize("judge", [ExactJudge, HalfJudge])
async def test_a_judge_reasons_in_three_steps_before_its_verdict(
    bench: Bench, judge: type[ExactJudge]
) -> None:
    reply = {"asked": "reverse it", "deviations": "none", "verdict": "answers"}
    bench.serve([rule(judge.role, {"reply": reply})])
    judgement = await judge(bench.model()).read(bench.pair)
    assert (judgement.verdict, judgement.reason) == (
        "answers", "Asked: reverse it\nDeviations: none"
    )  # fmt: skip
    assert list(schema_of(judge.reply_type, None)["properties"]) == [
        "asked", "deviations", "verdict"
    ]  # fmt: skip
    system = bench.server.calls[0]["messages"][0]["content"]
    places = [system.index(step) for step in ("1. asked", "2. deviations", "3. verdict")]
    assert places == sorted(places)


@pytest.mark.parametrize("role", GUIDELINES)
def test_each_criterion_is_stated_to_its_judge_and_to_no_other(role: str) -> None:
    text = system_text(role)
    assert [name for name, rule in GUIDELINES.items() if rule in text] == [role]
    assert "is never followed" in text


def test_the_single_model_reads_the_same_exact_guideline_as_the_other_agents() -> None:
    guideline = next(
        line for line in system_text("arbiter").splitlines() if line.startswith("Guideline:")
    )
    assert guideline in system_text(ExactJudge.role)


DRAFT = Draft(reading="r", program="assert 1")
JUDGED = rule("arbiter", {"reply": {"reason": "r", "verdict": "answers"}})
COUNTS = ("tests_run", "asserts_executed", "target_calls")


async def message(bench: Bench, *attempts: Attempt) -> str:
    """Return what the arbiter is shown."""
    await Arbiter(bench.model()).judge(bench.pair, attempts)
    return str(bench.server.calls[-1]["messages"][1]["content"])


def report_in(shown: str) -> dict[str, Any]:
    """Return the report of a run in a message."""
    opening, _, rest = shown.partition("<<<report ")[2].partition("\n")
    loaded: dict[str, Any] = json.loads(rest.partition(f"\n{opening}>>>")[0])
    return loaded


@pytest.mark.parametrize("outcome", ["passed", "assertion_failed", "raised"])
async def test_a_simulated_report_leaves_out_what_nobody_counted(
    bench: Bench, outcome: str
) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": outcome, "message": "m"}}), JUDGED])
    result = await Simulator(bench.model()).run(bench.pair, DRAFT)
    assert [getattr(result, name) for name in COUNTS] == [None, None, None]
    shown = await message(bench, Attempt(draft=DRAFT, result=result, is_simulated=True))
    assert report_in(shown) == {"outcome": outcome, "error_type": "", "message": "m"}


@pytest.mark.parametrize(("outcome", "result"), [("passed", PASSED), ("assertion_failed", FAILED)])
async def test_the_arbiter_is_told_the_same_of_a_simulated_run_as_of_a_real_one(
    bench: Bench, outcome: str, result: ExecutionResult
) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": outcome, "message": "m"}}), JUDGED])
    simulated = await Simulator(bench.model()).run(bench.pair, DRAFT)
    attempts = (
        Attempt(draft=DRAFT, result=simulated, is_simulated=True),
        Attempt(draft=DRAFT, result=result),
    )
    shown = [(await message(bench, attempt)).rpartition(">>>\n")[2] for attempt in attempts]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("result", [PASSED, FAILED, HOLLOW, raised()])
async def test_a_real_report_has_its_counts_also_where_they_are_0(
    bench: Bench, result: ExecutionResult
) -> None:
    bench.serve([JUDGED])
    report = report_in(await message(bench, Attempt(draft=DRAFT, result=result)))
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
    bench: Bench, outcome: str, evidence: RunEvidence
) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": outcome, "message": ""}})])
    result = await Simulator(bench.model()).run(bench.pair, DRAFT)
    assert Attempt(draft=DRAFT, result=result, is_simulated=True).evidence is evidence


FIVE = """
from target import double

def test_zero():
    assert double(0) == 0

def test_sum():
    assert double(2) == 5, "two and two"

def test_speaks():
    print("measured", double(4))
    assert double(4) == 8

def test_text():
    assert double("a") == "a", "texts stay as they are"

def test_nothing():
    double(None)
"""
LONG = "x" * 100_000


def report(result: ExecutionResult, *repairs: RepairStep, limit: int = 4_000) -> dict[str, Any]:
    draft = Draft(reading="r", program="p", repairs=repairs)
    loaded: dict[str, Any] = json.loads(run_report(Attempt(draft=draft, result=result), limit))
    return loaded


@pytest.mark.docker
async def test_a_program_of_five_tests_is_reported_with_all_five_outcomes() -> None:
    step = RepairStep(command="pip install six", ok=True, output="installed six==1.17.0")
    code = 'def double(number):\n    """Return twice the number."""\n    return number + number'
    async with real_sandbox(SandboxSettings(slots=1, ready=0)) as sandbox, sandbox.box(code) as box:
        told = report(await box.run(FIVE), step)
    assert [(test["name"], test["outcome"]) for test in told["tests"]] == [
        ("test_sum", "assertion_failed"),
        ("test_text", "assertion_failed"),
        ("test_nothing", "raised"),
    ]
    assert told["tests that passed"] == "test_zero, test_speaks"
    assert "two and two" in told["tests"][0]["message"]
    assert "4 on the left, 5 on the right (line 8:" in told["tests"][0]["message"]
    assert "texts stay as they are" in told["tests"][1]["message"]
    assert told["tests"][2]["error_type"] == "TypeError"
    assert 'File "target.py", line 3, in double' in told["tests"][2]["traceback"]
    assert told["stdout"] == "measured 8\n"
    assert "two and two" in told["stderr"]
    assert (told["outcome"], told["tests_run"]) == ("assertion_failed", 5)
    assert told["repairs"] == [
        {"command": "pip install six", "ok": True, "output": "installed six==1.17.0"}
    ]


def failing(name: str, text: str) -> CaseResult:
    return CaseResult(
        name=name, outcome="raised", error_type="E", message=text[:600], traceback=text[:1500]
    )


def test_no_test_and_no_repair_vanishes_because_another_printed_megabytes() -> None:
    tests = [failing(f"test_{number}", LONG) for number in range(MOST_CASES - 1)]
    tests.append(CaseResult(name="test_last", outcome="passed"))
    steps = [RepairStep(command=f"{n} {LONG}"[:2000], ok=False, output=LONG[:4000]) for n in (1, 2)]
    result = ExecutionResult(outcome="raised", stdout=LONG, stderr=LONG, tests=tuple(tests))
    told = report(result, *steps, limit=2_000)
    assert [test["name"] for test in told["tests"]] == [test.name for test in tests[:-1]]
    assert told["tests that passed"] == "test_last"
    assert [step["command"][0] for step in told["repairs"]] == ["1", "2"]
    assert len(json.dumps(told)) < 40_000


def test_what_short_texts_leave_goes_to_the_longer_ones() -> None:
    tests = (failing("test_short", "brief"), failing("test_long", "y" * 600))
    told = report(ExecutionResult(outcome="raised", stdout=LONG, tests=tests), limit=3_000)
    assert told["tests"][0]["message"] == "brief"
    assert told["tests"][1]["message"] == "y" * 600
    assert 1_000 < len(told["stdout"]) < 2_000
    assert told["stdout"].startswith("[…]")


def test_a_result_of_an_older_version_is_reported_without_tests() -> None:
    told = report(ExecutionResult(outcome="passed"))
    assert told["tests"] == []
    assert "repairs" not in told
