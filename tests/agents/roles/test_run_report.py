"""Laws of the report that the arbiter reads: nothing that happened is missing, however long.

Covers `infra.records`, of whose records it is made.
"""

import json
from typing import Any

import pytest

from agents.evidence import Attempt, Draft
from agents.roles.judge import run_report
from infra.records import MOST_CASES, CaseResult, ExecutionResult, RepairStep
from infra.settings import SandboxSettings
from tests.real_sandbox import real_sandbox

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
