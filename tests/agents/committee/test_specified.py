"""Laws of judging by a query's specification, with programs that are really run.

Covers `agents.committee.specified`, `agents.claims.program`, `agents.roles.specify`.
"""

import re
from typing import Any

import pytest

from infra.records import Annotation, Code, Pair, Query
from sandbox.base import Sandbox
from tests.agents.conftest import Bench, always, rule
from tests.fakes.sandbox import PASSED
from tests.rows import first_rows

QUERY = Query.of("python rotate a list to the left by n places")
RIGHT = """
def rotate(items, n):
    n = n % len(items) if items else 0
    return items[n:] + items[:n]"""
WRONG = "def rotate(items, n):\n    return items[n:] + items[:n]"  # for n beyond the length
OTHER = "def rotate(n, items):\n    return tuple(items[n:])"
EXAMPLES = "[1, 2, 3], 1 => [2, 3, 1]\n[1], 5 => [1]\n[], 2 => []\n[1, 2, 3], 4 => [2, 3, 1]"
APART = RIGHT.replace("items, n)", "items, *, n)")  # no example's arguments fit it
ADAPTER = "from target import rotate\ndef answer(items, n):\n    return rotate(items, n)"
SPECIFICATION = {
    "reading": "the items after the first n, then the first n",
    "demands": "any n, beyond the length too",
    "left_open": "list or tuple",
    "examples": EXAMPLES,
    "clarity": "clear",
}
LOST = RIGHT.replace("n = n %", "if n == 4: return items[:-1]\n    n = n %")
DOUBLED = RIGHT.replace("n = n %", "if n == 4: return items + items\n    n = n %")
REFUSES = rule("claims_arbiter", {"reply": {"reason": "r", "verdict": "does_not_answer"}})
ANSWERS = rule("claims_arbiter", {"reply": {"reason": "it does", "verdict": "answers"}})

pytestmark = pytest.mark.docker


@pytest.fixture
def bench(bench: Bench, sandbox: Sandbox) -> Bench:
    bench.sandbox = sandbox
    return bench


def specified(**changes: str) -> dict[str, Any]:
    return rule("specifier", {"reply": {**SPECIFICATION, **changes}})


def screened(verdict: str, adapter: str = ADAPTER, call: str = "") -> dict[str, Any]:
    reply = {"reason": "by reading", "verdict": verdict, "adapter": adapter, "call": call}
    return rule("screener", {"reply": reply})


def valued(*values: str) -> dict[str, Any]:
    return rule("value_reader", *({"reply": {"reason": "r", "value": value}} for value in values))


async def judged(bench: Bench, code: str, *script: dict[str, Any]) -> Annotation:
    bench.serve(script)
    committee = bench.committee(bench.sandbox, configuration="spec", evidence="read")
    return await committee.judge(Pair(query=QUERY, code=Code.of(code)))


def told(annotation: Annotation) -> tuple[str, int | None, str | None, str]:
    return annotation.path, annotation.label, annotation.decided_by, annotation.support


@pytest.mark.parametrize("verdict", ["clear_match", "unclear_behaviour", "unclear_query"])
async def test_code_that_holds_every_claim_is_a_match_without_an_arbiter(
    bench: Bench, verdict: str
) -> None:
    annotation = await judged(bench, RIGHT, specified(), screened(verdict))
    assert told(annotation) == ("claims_hold", 1, "claims", "valid_oracle")
    assert [call.role for call in annotation.calls] == ["specifier", "screener"]
    assert annotation.agreeing == annotation.judgements == 1 + (verdict == "clear_match")


async def test_a_value_that_two_readers_demand_and_the_code_does_not_give_decides(
    bench: Bench,
) -> None:
    annotation = await judged(
        bench, WRONG, specified(), screened("unclear_behaviour"), valued("(2, 3, 1)")
    )
    assert told(annotation) == ("claims_fail", 0, "claims", "valid_oracle")
    assert "[1, 2, 3], 4 => [2, 3, 1]: gave [1, 2, 3]" in annotation.reason
    (request,) = bench.told("value_reader")
    seen = request
    assert "[1, 2, 3], 4" in seen
    assert "rotate(" not in seen, "the second reader sees no code"
    assert "[2, 3, 1]" not in seen, "nor the value that is claimed"


async def test_a_claim_that_the_second_reader_refutes_is_left_out(bench: Bench) -> None:
    examples = f"[1, 2], 1 => [1, 2]\n{EXAMPLES}"
    annotation = await judged(
        bench, RIGHT, specified(examples=examples), screened("clear_match"), valued("[2, 1]")
    )
    assert told(annotation) == ("claims_hold", 1, "claims", "valid_oracle")
    assert [run.result.outcome for run in annotation.executions] == ["assertion_failed", "passed"]


@pytest.mark.parametrize("value", first_rows(1, ["open", "two and one", ""]))
@pytest.mark.parametrize("code", [WRONG, LOST, DOUBLED], ids=["kept", "lost", "doubled"])
async def test_an_arbiter_sees_a_failure_that_the_reader_leaves_open(
    bench: Bench, value: str, code: str
) -> None:
    annotation = await judged(
        bench, code, specified(), screened("clear_match"), valued(value), REFUSES
    )
    assert told(annotation)[:3] == ("claims_disputed", 0, "arbiter")
    (request,) = bench.told("claims_arbiter")
    [line] = re.findall(r"\[1, 2, 3\], 4 => .*", request)
    assert "the code gave [1, 2" in line
    assert not value or f"a reader who saw no code demands {value}" in line


@pytest.mark.parametrize(
    ("first_line", "error"),
    [
        ("size = len(items)", "ZeroDivisionError"),
        ("if items: size = len(items)", "UnboundLocalError"),
        ("size = len(items) or int.no", "AttributeError"),
        ("if not (size := len(items)): raise Exception('nothing')", "Exception"),
    ],
)
async def test_an_exception_by_the_codes_own_logic_fails_a_claim(
    bench: Bench, first_line: str, error: str
) -> None:
    lines = f"{first_line}\n    n = n % size\n    return items[n:] + items[:n]"
    code = f"def rotate(items, n):\n    {lines}"
    annotation = await judged(bench, code, specified(), screened("unclear_behaviour"), valued("[]"))
    assert told(annotation)[:3] == ("claims_fail", 0, "claims")
    assert f"gave raises {error}" in annotation.reason


@pytest.mark.parametrize(
    ("verdict", "code", "script"),
    [
        ("clear_match", WRONG, [valued("[2, 3, 1]")]),
        ("clear_non_match", RIGHT, []),
        # It holds no claim: the adapter may be wrong.
        ("unclear_behaviour", OTHER.replace("items[n:]", "[n]"), [valued("[2, 3, 1]")]),
    ],
)
async def test_an_arbiter_decides_where_reading_and_running_differ(
    bench: Bench, verdict: str, code: str, script: list[dict[str, Any]]
) -> None:
    annotation = await judged(bench, code, specified(), screened(verdict), *script, ANSWERS)
    assert told(annotation)[:3] == ("claims_disputed", 1, "arbiter")
    (request,) = bench.told("claims_arbiter")
    assert "[1, 2, 3], 4 => [2, 3, 1] | the code gave" in request


async def test_the_call_by_which_the_screener_would_show_a_fault_is_run(bench: Bench) -> None:
    examples = "[1, 2], 1 => [2, 1]\n[1], 0 => [1]\n[], 0 => []"
    annotation = await judged(
        bench,
        WRONG,
        specified(examples=examples),
        screened("clear_non_match", call="[1, 2, 3], 4 => [2, 3, 1]"),
        valued("[2, 3, 1]"),
    )
    assert told(annotation)[:3] == ("claims_fail", 0, "claims")


@pytest.mark.parametrize(("verdict", "programs"), [("clear_match", 1), ("clear_non_match", 0)])
async def test_a_program_is_run_for_a_match_of_which_no_claim_ran(
    bench: Bench, verdict: str, programs: int
) -> None:
    demand = "assert rotate([1, 2, 3], n=1) == [2, 3, 1]"
    program = f"from target import rotate\ndef test_it():\n    {demand}"
    writer = rule("writer", {"reply": {"reading": "r", "beside": "", "program": program}})
    pair = Pair(query=QUERY, code=Code.of(APART))
    annotation = await bench.judge(
        [specified(), screened(verdict, adapter=""), writer], bench.sandbox, "spec", pair=pair
    )
    expected = ("unclear_passed", "valid_oracle") if programs else (verdict, "screened")
    assert (annotation.path, annotation.support) == expected
    assert len(annotation.executions) == programs


async def test_what_the_screener_claims_never_speaks_for_the_code(bench: Bench) -> None:
    """It has seen the code, which may have told it what to say."""
    examples = "[1, 2], 1 => [2, 1]\n[1], 0 => [1]"
    annotation = await judged(
        bench,
        WRONG,
        specified(examples=examples),
        screened("clear_match", call="[1, 2, 3], 4 => [1, 2, 3]"),
    )
    assert told(annotation) == ("clear_match", 1, "screener", "screened"), "not by claims"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("numpy.asscalar(1)", "module 'numpy' has no attribute 'asscalar'"),
        ("'x'.decode('hex')", "no attribute 'decode'"),
        ("dict({}.items() + {}.items())", "'dict_items' and 'dict_items'"),
    ],
)
async def test_what_an_older_python_or_library_had_is_missing_around_the_code(
    bench: Bench, value: str, error: str
) -> None:
    code = f"import numpy\ndef rotate(items, n):\n    return {value}"
    annotation = await judged(bench, code, specified(), screened("clear_match"))
    assert told(annotation) == ("clear_match", 1, "screener", "screened")
    assert error in annotation.executions[-1].result.message


async def test_arguments_and_values_are_made_before_the_code_runs(bench: Bench) -> None:
    examples = f"int('x'), 1 => raises ValueError\n[1] + given, 1 => 1\n{EXAMPLES}"
    annotation = await judged(bench, RIGHT, specified(examples=examples), screened("clear_match"))
    assert told(annotation) == ("claims_hold", 1, "claims", "valid_oracle"), "by the others"
    outcomes = [[case.outcome for case in run.result.tests] for run in annotation.executions]
    assert outcomes == [["raised", "raised", *["passed"] * 4], ["passed"] * 4]


async def test_results_are_compared_whatever_their_container(bench: Bench) -> None:
    adapter = "def answer(items, n):\n    return rotate(n, items)"
    code = (
        "def rotate(n, items):\n    n = n % (len(items) or 1)\n    yield from items[n:] + items[:n]"
    )
    annotation = await judged(bench, code, specified(), screened("clear_match", adapter))
    assert told(annotation)[:2] == ("claims_hold", 1)


@pytest.mark.parametrize(
    ("adapter", "code"),
    [
        ("", APART),
        ("def answer(items, n):\n    return items[n:] + rotate(items, n=n)", APART),
        ("", "def rotate(items, n, by):\n    return items"),
        ("", "class Rotated:\n    def rotate(self, items, n):\n        return items"),
        ("", "async def rotate(items, n):\n    return items"),
        (ADAPTER, f"{RIGHT} + unknown_name"),
        (ADAPTER, f"import module_of_nobody_1a2b\n{RIGHT}"),
    ],
)
async def test_code_on_which_no_claim_can_be_run_is_judged_by_reading(
    bench: Bench, adapter: str, code: str
) -> None:
    annotation = await judged(bench, code, specified(), screened("clear_non_match", adapter))
    assert told(annotation) == ("clear_non_match", 0, "screener", "screened")


async def test_doubt_about_the_query_gets_a_program_for_its_likeliest_reading(bench: Bench) -> None:
    """Fault 6: the screener's doubt about the query is another one than that about the code."""
    program = "from target import rotate\ndef test_it():\n    assert rotate([1, 2], 1) == [2, 1]"
    answers = {"reply": {"reason": "by the likeliest reading", "verdict": "answers"}}
    script = [
        specified(examples=""),
        screened("unclear_query", ""),
        rule("writer", {"reply": {"reading": "r", "program": program}}),
        rule("query_arbiter", answers),
    ]
    bench.serve(script)
    sandbox = always(PASSED)
    committee = bench.committee(sandbox, configuration="spec", evidence="read")
    annotation = await committee.judge(Pair(query=QUERY, code=Code.of(RIGHT)))
    assert told(annotation) == ("unclear_query", 1, "arbiter", "valid_oracle")
    (request,) = bench.told("writer")
    assert SPECIFICATION["reading"] in request


async def test_what_is_known_of_an_adapter_goes_to_who_wrote_it(bench: Bench) -> None:
    lacking = RIGHT.replace("len(items)", "size(items)")
    faulty = {"adapter": "def answer(items, n):\n    return sorted(items)", "beside": ""}
    beside = "def size(items):\n    return len(items)"
    unfit = {"adapter": "def answer(items, n):\n    return rotate(items)", "beside": beside}
    reply = {"reason": "r", "verdict": "unclear_behaviour", "call": ""}
    screeners = rule("screener", {"reply": reply | faulty}, {"reply": reply | unfit})
    bench.serve([specified(), screeners])
    committee = bench.committee(bench.sandbox, configuration="spec")
    annotation = await committee.judge(Pair(query=QUERY, code=Code.of(lacking)))
    asked = [(call["role"], call["messages"][1]["content"]) for call in bench.server.calls]
    assert [role for role, _ in asked] == ["specifier", "screener", "screener"]
    assert "sorted(items)" in asked[2][1]
    assert "computes: sorted" in asked[2][1]
    assert told(annotation) == ("claims_hold", 1, "claims", "valid_oracle"), "by a plain call"


async def test_the_writer_learns_why_an_adapter_failed_that_nobody_could_mend(bench: Bench) -> None:
    faulty = "def answer(items, n):\n    return sorted(rotate(items, n, None))"
    code = RIGHT.replace("items, n", "items, n, unused", 1)  # which no plain call fits
    unclear = {"reason": "r", "verdict": "unclear_behaviour", "call": ""}
    adapters = [{"reply": unclear | {"adapter": adapter}} for adapter in (faulty, "")]
    program = rule("writer", {"reply": {"reading": "r", "program": ""}})
    arbiter = rule("arbiter", {"reply": {"reason": "r", "verdict": "answers"}})
    bench.serve([specified(), rule("screener", *adapters), program, arbiter])
    committee = bench.committee(bench.sandbox, configuration="spec")
    await committee.judge(Pair(query=QUERY, code=Code.of(code)))
    (request,) = bench.told("writer")
    assert "line 2 computes: sorted" in request


async def test_where_there_is_no_example_no_message_speaks_of_one(bench: Bench) -> None:
    script = [
        specified(examples="", cannot_show="open"), screened("unclear_behaviour", ""), ANSWERS,
    ]  # fmt: skip
    program = rule("writer", {"reply": {"reading": "r", "program": ""}})
    arbiter = rule("arbiter", {"reply": {"reason": "r", "verdict": "answers"}})
    await bench.judge(
        [*script, program, arbiter],
        bench.sandbox,
        "spec",
        pair=Pair(query=QUERY, code=Code.of(RIGHT)),
    )
    asked = [call["messages"][1]["content"] for call in bench.server.calls]
    assert len(asked) == 4
    assert not any("xample" in text for text in asked)


async def test_code_that_takes_another_number_of_arguments_is_read_and_nobody_else_is_asked(
    bench: Bench,
) -> None:
    code = "def rotate(items):\n    return items[1:] + items[:1]"
    annotation = await judged(bench, code, specified(), screened("unclear_behaviour"), ANSWERS)
    assert told(annotation) == ("unclear_read", 1, "arbiter", "screened")
    asked = [(call["role"], call["messages"][1]["content"]) for call in bench.server.calls]
    assert [role for role, _ in asked] == ["specifier", "screener", "claims_arbiter"]
    assert "takes 1 positional argument but 2 were given" in asked[-1][1]


@pytest.mark.parametrize(("verdict", "readers"), [("clear_non_match", 0), ("unclear_behaviour", 1)])
async def test_two_claims_written_before_any_code_need_no_reader_where_reading_agrees(
    bench: Bench, verdict: str, readers: int
) -> None:
    examples = "[1, 2], 3 => [2, 1]\n[1, 2, 3], 4 => [2, 3, 1]\n[1, 2], 1 => [2, 1]"
    script = [specified(examples=examples), screened(verdict), valued("[2, 1]")]
    annotation = await judged(bench, WRONG, *script)
    assert told(annotation) == ("claims_fail", 0, "claims", "valid_oracle")
    assert bench.server.count("value_reader") == readers


@pytest.mark.parametrize(
    ("call", "path", "label"),
    [("[1, 2], 1 => [2, 1]", "claims_disputed", 1), ("", "claims_fail", 0)],
    ids=["contradicted", "uncontradicted"],
)
async def test_an_example_that_the_screener_contradicts_is_left_to_the_arbiter(
    bench: Bench, call: str, path: str, label: int
) -> None:
    """Two readers may share a mistake; the code gives what the screener demands of that call."""
    wrong = f"{EXAMPLES}\n[1, 2], 1 => [1, 2]"
    script = [specified(examples=wrong), valued("[1, 2]"), ANSWERS]
    annotation = await judged(bench, RIGHT, *script, screened("unclear_behaviour", call=call))
    assert told(annotation)[:2] == (path, label)


async def test_a_form_that_the_query_leaves_open_decides_nothing(bench: Bench) -> None:
    pairs = "[1, 2], 1 => [1, 2]\n[3], 1 => [3]\n[], 1 => []\n[4, 4, 5], 1 => [4, 5]"
    code = "def rotate(items, n):\n    return {one: items.count(one) for one in items}.items()"
    annotation = await judged(
        bench, code, specified(examples=pairs), screened("unclear_behaviour"), valued("open"),
        rule("writer", {"reply": {"reading": "r", "program": ""}}),
        rule("arbiter", {"reply": {"reason": "it does", "verdict": "answers"}}),
    )  # fmt: skip
    assert annotation.label == 1
    asked = [call for call in bench.server.calls if call["role"] == "value_reader"]
    assert not any("specified" in call["messages"][1]["content"] for call in asked)


async def test_code_of_python_2_is_judged_as_translated(bench: Bench) -> None:
    code = RIGHT.replace("\n    return", "\n    print 'n', `n`\n    return")
    annotation = await judged(bench, code, specified(), screened("clear_match"))
    assert told(annotation) == ("claims_hold", 1, "claims", "valid_oracle")
    assert annotation.reason.startswith("as translated to today's Python")
    assert annotation.code_id == Code.of(code).code_id


@pytest.mark.parametrize(
    ("verdict", "asked"),
    [("clear_match", []), ("unclear_behaviour", ["claims_arbiter"])],
)
async def test_code_that_is_no_python_is_judged_by_reading(
    bench: Bench, verdict: str, asked: list[str]
) -> None:
    script = [specified(), screened(verdict), ANSWERS]
    annotation = await judged(bench, "def rotate(items, n)\n    return items", *script)
    assert (annotation.label, annotation.support) == (1, "screened")
    assert [call.role for call in annotation.calls] == ["specifier", "screener", *asked]


async def test_all_candidates_of_a_query_are_judged_by_one_reading(bench: Bench) -> None:
    """Fault 1: the reading is chosen before any code is seen, and asked for once."""
    bench.serve([specified(), screened("clear_match")])
    committee = bench.committee(bench.sandbox, configuration="spec", evidence="read")
    both = [
        await committee.judge(Pair(query=QUERY, code=Code.of(code)))
        for code in (RIGHT, f"# the same\n{RIGHT}")
    ]
    assert bench.server.count("specifier") == 1
    first, second = (annotation.calls[0] for annotation in both)
    assert (first.cached, second.cached) == (False, True)
    assert first.reply == second.reply
    (request,) = bench.told("specifier")
    assert "rotate(" not in request
    for call in bench.server.calls:
        if call["role"] == "screener":
            assert SPECIFICATION["demands"] in call["messages"][1]["content"]


async def test_programs_are_written_to_the_specification_where_no_example_can_be_run(
    bench: Bench,
) -> None:
    program = "from target import rotate\ndef test_it():\n    assert rotate([1, 2], 1) == [2, 1]"
    sandbox = always(PASSED)
    annotation = await bench.judge(
        [
            specified(examples=""),
            screened("unclear_behaviour", ""),
            rule("writer", {"reply": {"reading": "r", "program": program}}),
            rule("arbiter", {"reply": {"reason": "it passes", "verdict": "answers"}}),
        ],
        sandbox,
        "spec",
        pair=Pair(query=QUERY, code=Code.of(RIGHT)),
    )
    assert told(annotation)[:3] == ("unclear_passed", 1, "arbiter")
    for role in ("writer", "arbiter"):
        (request,) = bench.told(role)
        assert SPECIFICATION["demands"] in request
