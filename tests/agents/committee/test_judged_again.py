"""A pair that is judged again gets the same label by the replies in the journal, at no cost."""

from typing import Any

import pytest

from infra.records import ExecutionResult
from infra.settings import Configuration
from tests.agents.committee.test_configurations import BETTER, HOLLOW, IMAGINED, STEPWISE
from tests.agents.conftest import (
    ANSWERS,
    BLIND,
    FALLS_SHORT,
    GOOD,
    IN_DOUBT,
    SPECIFIED,
    UNCLEAR,
    Bench,
    always,
    rule,
    written,
    written_blind,
)
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox, lacks, raised
from tests.fakes.specified import SCREENING, claims_run

MENDED = {"diagnosis": "d", "action": "add_import", "content": "import math"}
INSTALLED = {"diagnosis": "d", "action": "install", "content": "missing"}
FIXES = rule("fixer", {"reply": INSTALLED}, {"text": "no idea"}, {"reply": MENDED})
DERIVED = {"status", "label", "decided_by", "path", "support", "judgements", "agreeing"}


def as_the_program_says(program: str, installed: frozenset[str]) -> ExecutionResult:
    if "PyYAML" not in installed:
        return lacks("yaml")
    return PASSED if "math" in program else raised()


COMMANDS = rule(
    "command_fixer",
    {
        "reply": {
            "diagnosis": "d",
            "verdict": "repairable",
            "commands": "make fail\npip install six",
        }
    },
    {"reply": {"diagnosis": "d", "verdict": "repairable", "commands": "touch data.txt"}},
)


def as_the_box_says(program: str, installed: frozenset[str]) -> ExecutionResult:
    if "PyYAML" not in installed:
        return lacks("yaml")
    return PASSED if {"six", "touch data.txt"} <= installed else raised()


SAYS_NO = rule("claims_arbiter", {"reply": {"reason": "r", "verdict": "does_not_answer"}})


IN_DOUBT_OF_QUERY = rule("query_arbiter", {"reply": {"reason": "r", "verdict": "answers"}})


def screened(verdict: str = "clear_match", **fields: str) -> dict[str, Any]:
    return rule("screener", {"reply": SCREENING | {"verdict": verdict} | fields})


def demanded(*values: str) -> dict[str, Any]:
    return rule("value_reader", *({"reply": {"reason": "r", "value": one}} for one in values))


ROADS: dict[str, tuple[Configuration, list[dict[str, Any]], FakeSandbox]] = {
    "clear": ("paper", [rule("screener", {"reply": {"reason": "r", "verdict": "clear_match"}})],
              always(PASSED)),
    "read": ("single", STEPWISE, always(PASSED)),
    "imagined": ("simulated", [UNCLEAR, written(GOOD), IMAGINED, FALLS_SHORT],
                 always(PASSED)),
    "mended": ("spec", [*IN_DOUBT, written(GOOD), FIXES, ANSWERS],
               FakeSandbox(as_the_program_says, ["PyYAML"])),
    "by commands": ("paper", [UNCLEAR, written(GOOD), COMMANDS, ANSWERS],
                    FakeSandbox(as_the_box_says, ["PyYAML", "six"])),
    "valid": ("spec", [*IN_DOUBT, written(GOOD), ANSWERS],
              always(PASSED)),
    "written twice": ("spec", [*IN_DOUBT, written(HOLLOW, BETTER), FALLS_SHORT],
                      always(PASSED)),
    "survived by mutants": ("spec", [*IN_DOUBT, written(GOOD), ANSWERS],
                            always(PASSED, PASSED)),
    "failed and confirmed": ("spec", [*IN_DOUBT, written(GOOD), written_blind(), FALLS_SHORT],
                             always(FAILED)),
    "failed and not confirmed": (
        "spec", [*IN_DOUBT, written(GOOD), written_blind(), ANSWERS],
        FakeSandbox(lambda program, installed: PASSED if program == BLIND else FAILED)),
    "unreadable": ("paper", [UNCLEAR, rule("writer", {"text": "no"})],
                   always(PASSED)),
    "claims hold": ("spec", [SPECIFIED, screened(), demanded("'ba'")],
                    FakeSandbox(claims_run({"'ab'": "'ba'"}))),
    "claims fail": ("spec", [SPECIFIED, screened("clear_non_match"), demanded("'ab'")],
                    FakeSandbox(claims_run({"'ab'": "'ba'"}))),
    "claims disputed": ("spec", [SPECIFIED, screened(), demanded("'ab'"), SAYS_NO],
                        FakeSandbox(claims_run({"'ab'": "'ba'"}))),
    "a claim that does not run": (
        "spec", [SPECIFIED, screened(call="'ab' => 'ba'")],
        FakeSandbox(claims_run(broken=["'ab'"]))),
    "a claim of the specification alone": (
        "spec", [SPECIFIED, screened("clear_non_match"), demanded("open", "'ab'"), SAYS_NO],
        FakeSandbox(claims_run({"'ab'": "'ba'"}, broken=["''"]))),
    "unclear query": ("spec", [SPECIFIED, screened("unclear_query", adapter=""), written(GOOD),
                               IN_DOUBT_OF_QUERY], always(PASSED)),
    "a faulty adapter": ("spec", [SPECIFIED, screened(adapter="faulty"), written(GOOD)],
                         always(PASSED)),
    "claims, then a program": (
        "spec",
        [SPECIFIED, screened("unclear_behaviour"), demanded("open"), written(GOOD), ANSWERS],
        FakeSandbox(claims_run(dict.fromkeys(("'abc'", "''", "'aab'", "'ab'"), "'?'")))),
}  # fmt: skip


@pytest.mark.parametrize("road", ROADS)
async def test_every_road_leads_to_the_same_label_again(bench: Bench, road: str) -> None:
    configuration, script, sandbox = ROADS[road]
    server = bench.serve(script)
    committee = bench.committee(sandbox, configuration=configuration)
    made = await committee.judge(bench.pair)
    asked = len(server.calls)
    again = await bench.committee(sandbox, configuration=configuration).judge(bench.pair)
    assert again.model_dump(include=DERIVED) == made.model_dump(include=DERIVED)
    assert [call.reply for call in again.calls] == [call.reply for call in made.calls]
    assert [run.program for run in again.executions] == [run.program for run in made.executions]
    assert len(server.calls) == asked, "nobody was asked"
