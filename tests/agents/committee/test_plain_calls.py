"""Laws of claims that run by a plain call of the code, without an adapter and at no word's cost.

Covers `agents.committee.specified`, `agents.claims.adapter`.
"""

from typing import Any

import pytest

from infra.records import Annotation, Code, Pair
from sandbox.base import Sandbox
from tests.agents.committee.test_specified import (
    ANSWERS,
    QUERY,
    REFUSES,
    RIGHT,
    WRONG,
    screened,
    specified,
    told,
    valued,
)
from tests.agents.conftest import Bench

pytestmark = pytest.mark.docker

FALSE = (
    "[1, 2], 1 => [1, 2]\n[1, 2, 3], 1 => [3, 1, 2]\n[1, 2, 3], 2 => [1, 2, 3]\n[3, 4], 1 => [3]"
)
UNLIKE = "def rotate(items, n):\n    return len(items) * n"
FAULTY = "def answer(items, n):\n    return first(n, items)"  # as the agents' text has it


@pytest.fixture
def bench(bench: Bench, sandbox: Sandbox) -> Bench:
    bench.sandbox = sandbox
    return bench


async def judged(
    bench: Bench, code: str, verdict: str, *script: dict[str, Any], adapter: str = "", **given: str
) -> Annotation:
    bench.serve([specified(**given), screened(verdict, adapter), *script])
    committee = bench.committee(bench.sandbox, configuration="spec", evidence="read")
    return await committee.judge(Pair(query=QUERY, code=Code.of(code)))


def roles(annotation: Annotation) -> list[str]:
    return [call.role for call in annotation.calls][2:]


@pytest.mark.parametrize(
    ("verdict", "adapter", "code"),
    [
        ("clear_match", "", RIGHT),
        ("unclear_behaviour", FAULTY, RIGHT.replace("n)", "n=1, *, by=None)", 1)),
        ("unclear_query", "as it stands", RIGHT.replace("items, n)", "items, *n)")),
    ],
)
async def test_code_that_holds_every_claim_by_a_plain_call_is_a_match(
    bench: Bench, verdict: str, adapter: str, code: str
) -> None:
    code = code.replace("    n = n %", "    (n,) = n\n    n = n %") if "*n" in code else code
    annotation = await judged(bench, code, verdict, adapter=adapter)
    assert told(annotation) == ("claims_hold", 1, "claims", "valid_oracle")
    assert roles(annotation) == []


async def test_code_that_fails_them_as_the_reading_says_is_none_and_costs_no_word(
    bench: Bench,
) -> None:
    annotation = await judged(bench, UNLIKE, "clear_non_match")
    assert told(annotation) == ("claims_fail", 0, "claims", "valid_oracle")
    assert roles(annotation) == []


async def test_a_single_failure_of_a_code_that_is_read_as_none_costs_no_word(bench: Bench) -> None:
    examples = "[1], 0 => [1]\n[2], 0 => [2]\n[1, 2], 5 => [2, 1]"
    annotation = await judged(bench, WRONG, "clear_non_match", examples=examples)
    assert told(annotation) == ("clear_non_match", 0, "screener", "screened")
    assert roles(annotation) == []
    assert len(annotation.executions) == 1


@pytest.mark.parametrize(("last_word", "label"), [(ANSWERS, 1), (REFUSES, 0)])
async def test_an_arbiter_decides_on_code_that_holds_what_its_reader_denies(
    bench: Bench, last_word: dict[str, Any], label: int
) -> None:
    annotation = await judged(bench, RIGHT, "clear_non_match", last_word)
    support = "valid_oracle" if label else "overruled"
    assert told(annotation) == ("claims_disputed", label, "arbiter", support)
    (request,) = bench.told("claims_arbiter")
    assert "return rotate(value_1, value_2)" in request


@pytest.mark.parametrize(
    ("values", "path"),
    [
        (["[2, 1]", "[2, 3, 1]", "[3, 1, 2]", "[4, 3]"], "unclear_read"),  # nobody confirms them
        (["[1, 2]", "[3, 1, 2]"], "claims_disputed"),  # a reader as weak as who wrote them
    ],
)
async def test_examples_that_are_wrong_refute_no_code_without_an_arbiter(
    bench: Bench, values: list[str], path: str
) -> None:
    script = (valued(*values), ANSWERS)
    annotation = await judged(bench, RIGHT, "clear_match", *script, examples=FALSE)
    assert annotation.label == 1
    assert annotation.path in (path, "clear_match")


async def test_code_that_lacks_what_a_plain_call_needs_is_read_as_before(bench: Bench) -> None:
    code = "def rotate(items, n):\n    return unknown(items)[n:]"
    annotation = await judged(bench, code, "clear_match")
    assert told(annotation) == ("clear_match", 1, "screener", "screened")


async def test_an_adapter_by_which_something_runs_is_used_and_no_plain_call(bench: Bench) -> None:
    adapter = "def answer(items, n):\n    return rotate(n, items)"
    code = RIGHT.replace("(items, n)", "(n, items)")
    annotation = await judged(bench, code, "clear_match", adapter=adapter)
    assert told(annotation)[:2] == ("claims_hold", 1)
    assert len(annotation.executions) == 1
