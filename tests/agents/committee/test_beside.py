"""What stands beside the code, from a reply to the label, with programs that are really run.

Covers `agents.gates.stubs`, `agents.roles.write`, `agents.committee.tester`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from infra.records import Annotation, Code, Pair, Query
from infra.settings import Configuration
from sandbox.base import Sandbox
from tests.agents.committee.test_boxed_languages import LIMITS_HERE
from tests.agents.committee.test_specified import RIGHT, screened, specified
from tests.agents.conftest import (
    ANSWERS,
    GAVE_UP,
    IN_DOUBT,
    UNCLEAR,
    Bench,
    always,
    repair,
    roles,
    rule,
)
from tests.fakes.llm_server import ScriptedServer, fenced
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.real_sandbox import real_sandbox

CODE = RIGHT.replace("n = n % len(items)", "n = Number(n) % size(items)")
BESIDE = "from operator import index as Number\ndef size(items):\n    return len(items)"
PROGRAM = """from target import rotate
def test_it():
    assert rotate([1, 2, 3], 1) == [2, 3, 1]
    assert rotate([1, 2, 3], 4) == [2, 3, 1]
    assert rotate([], 2) == []
"""
PAIR = Pair(query=Query.of("python rotate a list to the left by n places"), code=Code.of(CODE))


def written(program: str = PROGRAM, beside: str = BESIDE, role: str = "writer") -> dict[str, Any]:
    return rule(role, {"reply": {"reading": "r", "beside": beside, "program": program}})


def screening_of(configuration: Configuration) -> Sequence[dict[str, Any]]:
    """Return the rules after which a test program is written."""
    return IN_DOUBT if configuration == "spec" else (UNCLEAR,)


async def judged(
    bench: Bench, sandbox: Sandbox, configuration: Configuration, *script: dict[str, Any]
) -> Annotation:
    bench.serve([*script, ANSWERS])
    return await bench.committee(sandbox, configuration=configuration).judge(PAIR)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("configuration", "support"),
    [("executor", "ungated"), ("paper", "ungated"), ("spec", "valid_oracle")],
)
async def test_what_a_writer_puts_beside_the_code_is_there_where_the_program_runs(
    bench: Bench, sandbox: Sandbox, configuration: Configuration, support: str
) -> None:
    annotation = await judged(
        bench, sandbox, configuration, *screening_of(configuration), written()
    )
    assert roles(annotation)[-3:] == ["screener", "writer", "arbiter"]
    assert (annotation.path, annotation.support) == ("unclear_passed", support)
    assert "names that the code lacks" in bench.told("writer")[0]
    assert "Number, size\n" in bench.told("writer")[0]
    assert f"{BESIDE}\n" in bench.told("arbiter")[0]
    execution = annotation.executions[-1]
    assert execution.beside == BESIDE
    assert execution.oracle is None or execution.oracle.protection == "separate"


@pytest.mark.docker
async def test_what_a_screener_puts_there_is_there_for_claims(
    bench: Bench, sandbox: Sandbox
) -> None:
    lacking = screened("clear_match")
    lacking["steps"][0]["reply"]["beside"] = BESIDE
    annotation = await judged(bench, sandbox, "spec", specified(), lacking, written(beside=""))
    assert (annotation.path, annotation.support) == ("claims_hold", "valid_oracle")
    assert "Number, size\n" in bench.told("screener")[0]
    assert [run.beside for run in annotation.executions] == [BESIDE]


@pytest.mark.docker
async def test_an_error_of_it_is_no_failure_of_the_code(bench: Bench, sandbox: Sandbox) -> None:
    lacking = screened("clear_match")
    raises = BESIDE.replace("return len(items)", "raise ValueError(items)")
    lacking["steps"][0]["reply"]["beside"] = raises
    annotation = await judged(bench, sandbox, "spec", specified(), lacking, written("", ""))
    assert (annotation.path, annotation.label) == ("unclear_not_run", 1)
    execution, *_ = annotation.executions
    assert "ValueError" in {case.error_type for case in execution.result.tests}


@pytest.mark.docker
async def test_the_fixer_of_programs_may_add_to_it(bench: Bench, sandbox: Sandbox) -> None:
    fixes = rule("fixer", repair("add_import_to_code", BESIDE), repair("give_up"))
    annotation = await judged(bench, sandbox, "spec", *IN_DOUBT, written(beside=""), fixes)
    assert (annotation.path, annotation.support) == ("unclear_mended_passed", "valid_oracle")
    assert [run.beside for run in annotation.executions] == ["", "", BESIDE], "a plain call first"
    assert "Number, size\n" in bench.told("fixer")[0]


async def test_what_is_refused_is_told_to_the_fixer_and_never_runs(bench: Bench) -> None:
    lacks = PASSED.model_copy(update={"outcome": "raised", "error_type": "NameError"})
    sandbox = always(lacks)
    annotation = await bench.judge(
        [*IN_DOUBT, written(beside="def rotate(*_): return []"), GAVE_UP, ANSWERS],
        sandbox,
        "spec",
        pair=PAIR,
    )
    assert [run.beside for run in annotation.executions] == ["", ""]
    assert "rotate is no name that the code lacks" in bench.told("fixer")[0]
    assert "erred in its own lines.\nNo program is evidence" in bench.told("arbiter")[0]


@pytest.mark.parametrize(
    ("configuration", "support"),
    [("spec", "screened"), ("paper", "ungated"), ("writer", "ungated")],
)
async def test_a_writer_may_say_that_no_call_of_the_code_can_show_it(
    bench: Bench, configuration: Configuration, support: str
) -> None:
    sandbox = always(PASSED)
    annotation = await bench.judge(
        [*screening_of(configuration), written(" \n", ""), ANSWERS], sandbox, configuration
    )
    assert roles(annotation)[-3:] == ["screener", "writer", "arbiter"]
    assert (annotation.path, annotation.support) == ("unclear_not_run", support)
    assert sandbox.made == 0
    assert "Its writer found no call" in bench.told("arbiter")[0]


async def test_a_program_stands_where_nobody_can_write_a_better_or_a_second_one(
    bench: Bench,
) -> None:
    good = "from target import backwards\nassert backwards('ab') == 'ba'"
    steps = ({"reply": {"reading": "r", "program": text}} for text in (good, ""))
    bench.serve([*IN_DOUBT, rule("writer", *steps), written("", role="blind_writer"), ANSWERS])
    survives = always(PASSED, PASSED)
    annotation = await bench.committee(survives, configuration="spec").judge(bench.pair)
    assert roles(annotation) == ["specifier", "screener", "writer", "writer", "arbiter"]
    assert [run.program for run in annotation.executions] == [good]
    fails = FakeSandbox(
        lambda program, installed: PASSED.model_copy(update={"outcome": "assertion_failed"})
    )
    annotation = await bench.committee(fails, configuration="spec").judge(bench.pair)
    assert roles(annotation) == ["specifier", "screener", "writer", "blind_writer", "arbiter"]
    assert [run.program for run in annotation.executions] == [good]


SUMS = """function total(items) {
  let sum = 0;
  for (const item of items) if (isEven(item)) sum += item;
  return sum;
}"""
TELLS = """function total(items) {
  const sums = { even: 0 };
  for (const item of items) if (item % 2 === 0) sums.even += item;
  log(sums);
  return sums.even;
}"""
IS_EVEN = "const isEven = (n) => n % 2 === 0;"
NOTHING = "function isEven(n) {}"
LOG = "const log = () => {};"
ADDS = "function add(items) { return items.filter((n) => n % 2 === 0).reduce((a, b) => a + b, 0); }"
LONG = TELLS.replace(
    "const sums", "if (items.length > 3) return add(items);\n  const sums"
).replace("  log(sums);\n", "")
CASES = {  # code, stubs, label by claims, None where they are no evidence
    "a helper": (SUMS, IS_EVEN, 1),
    "a logger": (TELLS, LOG, 1),
    "a module of node's own that nobody required": (TELLS.replace("log(", "util.inspect("), "", 1),
    "a helper of a method": (
        "total(items) { return items.filter(isEven).reduce((a, b) => a + b, 0); }", IS_EVEN, 1,
    ),
    "a class": (
        TELLS.replace("{ even: 0 }", "new Sums()").replace("log(sums);", ""),
        "class Sums { constructor() { this.even = 0; } }", 1,
    ),
    "a constant that is made up": (
        TELLS.replace("=== 0", "=== 0 && item < LIMIT").replace("log(sums);", ""),
        "const LIMIT = 3;", None,
    ),
    "a helper in place of one that does nothing": (SUMS, NOTHING, None),
    "an import of what a module lacks": (SUMS, "const { isEven } = require('util');", None),
    "wrong whatever the logger does": (TELLS.replace("even +=", "even ="), LOG, 0),
    "wrong, with stubs that do all of the work": (
        "function total(items) {\n  return add(items);\n}", ADDS, None,
    ),
    "wrong where its helper does nothing": (LONG, "function add(items) {}", None),
    "wrong, with stubs that replace it": (
        SUMS.replace("+=", "="), f"{IS_EVEN}\n{ADDS.replace('add', 'total')}", None,
    ),
}  # fmt: skip
TIERS: dict[str, tuple[pytest.MarkDecorator, ...]] = {
    "a helper": (),
    "a helper in place of one that does nothing": (pytest.mark.exhaustive,),
    "wrong whatever the logger does": (pytest.mark.exhaustive,),
}
EXAMPLES = "[1, 2, 3, 4] => 6\n[] => 0\n[2] => 2\n[2, 2, 5] => 4\n[1, 3] => 0"
VALUES = dict(line.split(" => ") for line in EXAMPLES.splitlines())


class Reader(ScriptedServer):
    """A second reader who demands what the query does."""

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        if call["role"] != "value_reader":
            return super()._step(call)
        arguments = fenced("arguments", call["messages"][1]["content"])
        return {"reply": {"reason": "r", "value": VALUES[arguments]}}


@pytest.mark.docker
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=TIERS.get(name, pytest.mark.nightly)) for name in CASES],
)
async def test_a_run_of_javascript_is_evidence_where_it_does_not_rest_on_stubs(
    bench: Bench, name: str
) -> None:
    code, beside, label = CASES[name]
    adapter = "function answer(items) { return total(items); }"
    said = {"reason": "r", "verdict": "unclear_behaviour", "adapter": adapter, "call": ""}
    demands = {"reading": "r", "demands": "r", "left_open": "", "clarity": "clear"}
    bench.serve(
        [
            rule("specifier", {"reply": demands | {"examples": EXAMPLES}}),
            rule("screener", {"reply": said | {"beside": beside}}),
            written("", ""),
            ANSWERS,
        ],
        Reader,
    )
    query = Query.of("javascript sum of the even numbers of an array")
    async with real_sandbox(LIMITS_HERE) as sandbox:
        committee = bench.committee(sandbox, configuration="spec", evidence="read")
        made = await committee.judge(Pair(query=query, code=Code.of(code, language="javascript")))
    if label is None:
        assert (made.path, made.support == "valid_oracle") == ("unclear_not_run", False)
    else:
        path = "claims_hold" if label else "claims_fail"
        assert (made.path, made.label, made.support) == (path, label, "valid_oracle"), made.reason
    assert "names that the code lacks" in bench.told("screener")[0]
