"""The law of replay: what is stored gives the stored labels, with no model and no engine."""

from typing import Any, Literal

import pytest

from agents.committee.replay import replayed
from infra.records import Annotation, ExecutionResult, Pair
from infra.settings import (
    AnnotationSettings,
    Configuration,
    Evidence,
    LanguageModelSettings,
    Settings,
)
from tests.agents.committee.test_configurations import (
    ANSWERS,
    BETTER,
    BLIND,
    FALLS_SHORT,
    GOOD,
    HOLLOW,
    IMAGINED,
    STEPWISE,
    UNCLEAR,
    written,
    written_blind,
)
from tests.agents.conftest import Bench, rule
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox, lacks, raised
from tests.fakes.specified import SCREENING, SPECIFICATION, claims_run

MENDED = {"diagnosis": "d", "action": "add_import", "content": "import math"}
INSTALLED = {"diagnosis": "d", "action": "install", "content": "missing"}
FIXES = rule("fixer", {"reply": INSTALLED}, {"text": "no idea"}, {"reply": MENDED})
DERIVED = {"status", "label", "decided_by", "path", "support", "judgements", "agreeing"}


async def again(
    pair: Pair,
    annotation: Annotation,
    configuration: Configuration,
    evidence: Evidence | Literal["auto"] = "auto",
) -> Annotation:
    settings = Settings(
        llm=LanguageModelSettings(model="openai/scripted"),
        annotation=AnnotationSettings(configuration=configuration, evidence=evidence),
    )
    return await replayed(pair, annotation, settings)


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


SPECIFIED = rule("specifier", {"reply": SPECIFICATION})
SAYS_NO = rule("claims_arbiter", {"reply": {"reason": "r", "verdict": "does_not_answer"}})


def screened(verdict: str = "clear_match", **fields: str) -> dict[str, Any]:
    return rule("screener", {"reply": SCREENING | {"verdict": verdict} | fields})


def demanded(value: str, **fields: str) -> dict[str, Any]:
    return rule("value_reader", {"reply": {"reason": "r", "value": value} | fields})


ROADS: dict[str, tuple[Configuration, list[dict[str, Any]], FakeSandbox]] = {
    "clear": ("paper", [rule("screener", {"reply": {"reason": "r", "verdict": "clear_match"}})],
              FakeSandbox(lambda program, installed: PASSED)),
    "read": ("single", STEPWISE, FakeSandbox(lambda program, installed: PASSED)),
    "imagined": ("simulated", [UNCLEAR, written(GOOD), IMAGINED, FALLS_SHORT],
                 FakeSandbox(lambda program, installed: PASSED)),
    "mended": ("gated", [UNCLEAR, written(GOOD), FIXES, ANSWERS],
               FakeSandbox(as_the_program_says, ["PyYAML"])),
    "by commands": ("paper", [UNCLEAR, written(GOOD), COMMANDS, ANSWERS],
                    FakeSandbox(as_the_box_says, ["PyYAML", "six"])),
    "valid": ("gated", [UNCLEAR, written(GOOD), ANSWERS],
              FakeSandbox(lambda program, installed: PASSED)),
    "written twice": ("gated", [UNCLEAR, written(HOLLOW, BETTER), FALLS_SHORT],
                      FakeSandbox(lambda program, installed: PASSED)),
    "survived by mutants": ("gated", [UNCLEAR, written(GOOD), ANSWERS],
                            FakeSandbox(lambda program, installed: PASSED, on_mutant=PASSED)),
    "failed and confirmed": ("gated", [UNCLEAR, written(GOOD), written_blind(), FALLS_SHORT],
                             FakeSandbox(lambda program, installed: FAILED)),
    "failed and not confirmed": (
        "gated", [UNCLEAR, written(GOOD), written_blind(), ANSWERS],
        FakeSandbox(lambda program, installed: PASSED if program == BLIND else FAILED)),
    "unreadable": ("paper", [UNCLEAR, rule("writer", {"text": "no"})],
                   FakeSandbox(lambda program, installed: PASSED)),
    "declined": ("paper", [rule("screener", {"status": 413})],
                 FakeSandbox(lambda program, installed: PASSED)),
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
        "spec", [SPECIFIED, screened("clear_non_match"), demanded("'ab'", by_query_alone="open"),
                 SAYS_NO],
        FakeSandbox(claims_run({"'ab'": "'ba'"}, broken=["''"]))),
    "unclear query": ("spec", [SPECIFIED, screened("unclear_query", adapter=""), SAYS_NO],
                      FakeSandbox(claims_run())),
    "claims, then a program": (
        "spec",
        [SPECIFIED, screened("unclear_behaviour"), demanded("open"), written(GOOD), ANSWERS],
        FakeSandbox(claims_run(dict.fromkeys(("'abc'", "''", "'aab'", "'ab'"), "'?'")))),
    "no model": ("paper", [UNCLEAR, written(GOOD), rule("arbiter", {"status": 500})],
                 FakeSandbox(lambda program, installed: PASSED)),
}  # fmt: skip


@pytest.mark.parametrize("road", ROADS)
async def test_every_road_leads_to_the_same_label_again(
    bench: Bench, pair: Pair, road: str
) -> None:
    configuration, script, sandbox = ROADS[road]
    server = bench.serve(script)
    committee = bench.committee(sandbox, configuration=configuration, max_retries=0)
    made = await committee.judge(pair)
    asked, boxes = len(server.calls), sandbox.made
    derived = await again(pair, made, configuration)
    assert derived.model_dump(include=DERIVED) == made.model_dump(include=DERIVED)
    assert [call.reply for call in derived.calls] == [call.reply for call in made.calls]
    assert [run.program for run in derived.executions] == [run.program for run in made.executions]
    assert (len(server.calls), sandbox.made) == (asked, boxes), "nobody was asked"


async def test_a_run_that_differed_under_another_hash_seed_differs_again(
    bench: Bench, pair: Pair
) -> None:
    results = iter([PASSED, raised(), PASSED, raised()])
    bench.serve([UNCLEAR, written(GOOD), ANSWERS])
    sandbox = FakeSandbox(lambda program, installed: next(results))
    made = await bench.committee(sandbox, configuration="gated").judge(pair)
    derived = await again(pair, made, "gated")
    assert (made.support, derived.support) == ("void_oracle", "void_oracle")


async def test_a_stored_reply_that_was_changed_gives_another_label(
    bench: Bench, pair: Pair
) -> None:
    bench.serve([UNCLEAR, written(GOOD), ANSWERS])
    sandbox = FakeSandbox(lambda program, installed: PASSED)
    made = await bench.committee(sandbox).judge(pair)
    *others, last = made.calls
    forged = last.model_copy(update={"reply": last.reply.replace("answers", "does_not_answer")})
    derived = await again(pair, made.model_copy(update={"calls": (*others, forged)}), "paper")
    assert (made.label, derived.label) == (1, 0)


async def test_another_algorithm_than_the_stored_one_is_noticed(bench: Bench, pair: Pair) -> None:
    bench.serve([UNCLEAR, written(GOOD), ANSWERS])
    sandbox = FakeSandbox(lambda program, installed: PASSED)
    made = await bench.committee(sandbox).judge(pair)
    derived = await again(pair, made, "simulated")
    assert (derived.status, derived.reason) == ("failed", "no reply of the simulator is stored")


def of_another_release(annotation: Annotation) -> Annotation:
    """Return an annotation whose programs of claims have other helpers than this release's."""
    executions = [
        run.model_copy(update={"program": run.program.replace("def kinds_of", "def kinds_once_of")})
        for run in annotation.executions
    ]
    return annotation.model_copy(update={"executions": tuple(executions)})


@pytest.mark.parametrize("road", [road for road in ROADS if road.startswith(("claims", "a claim"))])
async def test_what_claims_gave_counts_whatever_release_ran_them(
    bench: Bench, pair: Pair, road: str
) -> None:
    configuration, script, sandbox = ROADS[road]
    bench.serve(script)
    made = await bench.committee(sandbox, configuration=configuration).judge(pair)
    derived = await again(pair, of_another_release(made), configuration)
    assert derived.model_dump(include=DERIVED) == made.model_dump(include=DERIVED)


async def test_a_run_without_the_claims_that_do_not_run_is_not_needed_for_a_former_label(
    bench: Bench, pair: Pair
) -> None:
    bench.serve([SPECIFIED, screened()])
    sandbox = FakeSandbox(claims_run(broken=["'ab'"]))
    made = await bench.committee(sandbox, configuration="spec").judge(pair)
    assert (made.path, made.label, made.support) == ("claims_hold", 1, "valid_oracle")
    former = made.model_copy(update={"executions": made.executions[:1]})
    derived = await again(pair, former, "spec", "read")
    assert (derived.path, derived.label, derived.support) == ("clear_match", 1, "screened")
