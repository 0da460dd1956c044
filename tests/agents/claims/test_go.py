"""An adapter in Go hands on and out, and claims are said in JSON or not run.

Covers `agents.claims.go`; `tests/agents/committee/test_boxed_languages.py` runs the programs.
"""

import json

import pytest

from agents.claims.claim import claims_in
from agents.claims.go import adapter_fault, claims_program, said
from agents.claims.program import is_claims_program
from agents.claims.spelling import UnknownValueError
from infra.languages.go import Go

CODE = """func first(n int, items []string) ([]string, error) { return items[:n], nil }
type Stack struct{ items []int }
func (s *Stack) Pop() int { return 0 }
"""
ADAPTER = "func answer(items []string, n int) ([]string, error) {\n\treturn first(n, items)\n}"


@pytest.mark.parametrize(
    "body",
    [
        "return first(n, items)",
        "found, err := first(int(n), items)\n\treturn found, err",
        "found, _ := first(-1, []string{items, items})\n\treturn string(found[0])",
        "first(n, items)\n\treturn items",
        "b := &bytes.Buffer{}\n\tfirst(b, strings.NewReader(items))\n\treturn b.String()",
        "s := &Stack{items: items}\n\ts.Pop()\n\treturn s.items",
        "return (&Stack{items}).Pop()",
        "return new(Stack).Pop()",
        "// as it is\n\treturn *first(2, items)",
        "first(n, items)",
    ],
)
def test_an_adapter_calls_and_hands_out(body: str) -> None:
    assert adapter_fault(f"func answer(items []string, n int) any {{\n\t{body}\n}}", CODE) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "func answer(",
        "var answer = first",
        f"{ADAPTER}\nfunc more() {{}}",
        ADAPTER.replace("answer", "other"),
        "func answer(items []string, first int) any { return first(1, items) }",
        "func answer(items []string, n int) any { return items }",
        "func answer(items []string, n int) any { return first(n, items), 1 }",
        "func answer(items []string, n int) any { return first(n + 1, items) }",
        "func answer(items []string, n int) any { return first(n, items[1:]) }",
        'func answer(items []string, n int) any { return first(n, []string{"a", "b"}) }',
        "func answer(items []string, n int) any { return sort(first(n, items)) }",
        "func answer(items []string, n int) any { if n > 0 { first(n, items) }\n return items }",
        "func answer(items []string, n int) any { return first(n, func() any { return 1 }()) }",
        "func answer(items []string, n int) any { return os.Getenv(items) }",
        "func answer(items []string, n int) any { claimsAlike = first\n return first(n, items) }",
    ],
)
def test_an_adapter_that_computes_is_none(text: str) -> None:
    assert adapter_fault(text, CODE)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        ([1, -2.5, (True, "a'\n")], [1, -2.5, [True, "a'\n"]]),
        ({1: {"é"}}, {"dict": [[1, {"set": ["é"]}]]}),
    ],
)
def test_values_are_said_in_json(value: object, told: object) -> None:
    assert json.loads(json.loads(said(value))) == told


@pytest.mark.parametrize("value", [float("inf"), b"a", 1j, float])
def test_values_that_go_has_not_are_refused(value: object) -> None:
    with pytest.raises(UnknownValueError):
        said(value)


def test_each_claim_is_a_test_and_one_that_cannot_be_said_panics() -> None:
    examples = "['c'], 1 => ['c']\n[], 1 => raises ValueError\n['a'], 1 => prints '1'\nb'a', 1 => 1"
    claims = claims_in(examples, 5)
    program = claims_program(claims, ADAPTER, CODE)
    assert is_claims_program(program)
    assert not Go().root_of(program).has_error
    tests = program.split("func test_claim_")[1:]
    assert [test.split("\n")[1].strip() for test in tests] == [
        'claimsGives(t, "[[\\"c\\"], 1]", "[\\"c\\"]")',
        'claimsRaises(t, "[[], 1]")',
        'claimsPrints(t, "[[\\"a\\"], 1]", "\\"1\\"", false)',
        'panic("not said in Go: bytes is not said in Go")',
    ]
