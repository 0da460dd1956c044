"""Adapters in JavaScript and Go hand on and out, and claims are written there or not run.

Covers `agents.claims.languages`; `test_boxed_languages.py` runs the programs.
"""

import json

import pytest

from agents.claims.claim import claims_in
from agents.claims.executed import EXECUTED, is_claims_program
from agents.claims.languages import GoCalls, JavaScriptCalls
from agents.claims.literals import UnknownValueError
from infra.languages.go import Go
from infra.languages.javascript import JavaScript

JAVASCRIPT, GO = JavaScriptCalls(), GoCalls()
CODE = "function first(n, items) { return items.slice(0, n); }"
ADAPTER = "function answer(items, n) { return first(n, items); }"


def test_an_adapter_calls_and_hands_out() -> None:
    for body in [
        "return first(n, items);",
        "const given = [n, ...items];\n  return first(n, given);",
        "const found = await first(n, { items, n: -1 });\n  return found.values[0];",
        "first(n, items);\n  return items;",
        "return Object.entries(first(new Map(items), new Date(0)));",
        "return [...first(n, items)];",
        "// as it is\n  return (first(2, first(n, items)));",
    ]:
        assert (
            JAVASCRIPT.adapter_fault(f"async function answer(items, n) {{\n  {body}\n}}", CODE)
            == ""
        )


def test_an_adapter_that_computes_is_none() -> None:
    for text in [
        "",
        "function answer(",
        "const answer = (items, n) => first(n, items);",
        f"{ADAPTER}\nfunction more() {{}}",
        "function other(items, n) { return first(n, items); }",
        "function answer(items, first) { return first(1, items); }",
        "function answer({ items }, n) { return first(n, items); }",
        "function answer(items, n) { return items; }",
        "function answer(items, n) { return [first(n, items), 1]; }",
        "function answer(items, n) { return first(n, items) + 1; }",
        "function answer(items, n) { return first(n + 1, items); }",
        "function answer(items, n) { return first(n, items.split(',')); }",
        "function answer(items, n) { return first(n, items).map(String); }",
        "function answer(items, n) { if (n) return first(n, items); return items; }",
        "function answer(items, n) { first(n, items); return [items[0], 'a']; }",
        "function answer(items, n) { return first(n, (() => items)()); }",
        "function answer(items, n) { return eval('items'); }",
        "function answer(items, n) { claims.adapter = 1; return first(n, items); }",
    ]:
        assert JAVASCRIPT.adapter_fault(text, CODE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ([1, -2.5, (True, "a'\n")], '[(1), (-2.5), [true, "a\'\\n"]]'),
        ({"__proto__": {1}}, '{ ["__proto__"]: new Set([(1)]) }'),
        (float("-inf"), "(-Infinity)"),
        ([float("nan")], "[(NaN)]"),
    ],
)
def test_values_are_said_in_javascript(value: object, text: str) -> None:
    assert JAVASCRIPT.render_literal(value) == text


def test_values_that_javascript_has_not_are_refused() -> None:
    for value in [2**60, {1: 2}, b"a", 1j, float]:
        with pytest.raises(UnknownValueError):
            JAVASCRIPT.render_literal(value)


def test_each_claim_is_a_test_and_one_that_cannot_be_said_raises() -> None:
    examples = "[3, 1], 1 => [3]\n[1], 0 => raises ValueError\n[1], 1 => prints '1'\nb'a', 1 => 1\n"
    claims = claims_in(f"{examples}[1], 2 => leaves {{'a': 1}}", 5)
    program = JAVASCRIPT.claims_program(claims, ADAPTER, CODE)
    assert is_claims_program(program)
    assert not JavaScript().root_of(program).has_error
    assert [
        line.strip() for line in program.splitlines() if line.startswith("  return claims.")
    ] == [
        'return claims.gives([[(3), (1)], (1)], [(3)], "");',
        'return claims.raises([[(1)], (0)], "ValueError", "");',
        'return claims.prints([[(1)], (1)], "1", "words");',
    ]
    assert program.count('throw new Error("not said in JavaScript') == 2


GO_CODE = """func first(n int, items []string) ([]string, error) { return items[:n], nil }
type Stack struct{ items []int }
func (s *Stack) Pop() int { return 0 }
"""
GO_ADAPTER = "func answer(items []string, n int) ([]string, error) {\n\treturn first(n, items)\n}"


def test_an_adapter_in_go_calls_and_hands_out() -> None:
    for body in [
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
    ]:
        assert (
            GO.adapter_fault(f"func answer(items []string, n int) any {{\n\t{body}\n}}", GO_CODE)
            == ""
        )


def test_an_adapter_in_go_that_computes_is_none() -> None:
    for text in [
        "",
        "func answer(",
        "var answer = first",
        f"{GO_ADAPTER}\nfunc more() {{}}",
        GO_ADAPTER.replace("answer", "other"),
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
    ]:
        assert GO.adapter_fault(text, GO_CODE)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        ([1, -2.5, (True, "a'\n")], [1, -2.5, [True, "a'\n"]]),
        ({1: {"é"}}, {"dict": [[1, {"set": ["é"]}]]}),
        ([float("-inf"), 1e300], [{"number": "-inf"}, 1e300]),
    ],
)
def test_values_are_said_in_json(value: object, told: object) -> None:
    assert json.loads(json.loads(GO.render_literal(value))) == told


def test_values_that_go_has_not_are_refused() -> None:
    for value in [b"a", 1j, float]:
        with pytest.raises(UnknownValueError):
            GO.render_literal(value)


def test_each_claim_is_a_test_in_go_and_one_that_cannot_be_said_panics() -> None:
    examples = "['c'], 1 => ['c']\n[], 1 => raises ValueError\n['a'], 1 => prints '1'\nb'a', 1 => 1"
    claims = claims_in(examples, 5)
    program = GO.claims_program(claims, GO_ADAPTER, GO_CODE)
    assert is_claims_program(program)
    assert not Go().root_of(program).has_error
    tests = program.split("func test_claim_")[1:]
    assert [test.split("\n")[1].strip() for test in tests] == [
        'claimsGives(t, "[[\\"c\\"], 1]", "[\\"c\\"]", "")',
        'claimsRaises(t, "[[], 1]", "\\"ValueError\\"", "")',
        'claimsPrints(t, "[[\\"a\\"], 1]", "\\"1\\"", "words")',
        'panic("not said in Go: bytes is not said in Go")',
    ]


@pytest.mark.parametrize("language", ["javascript", "go"])
def test_claims_demand_whole_values_and_make_none_of_arguments(language: str) -> None:
    is_go = language == "go"
    adapter, code = (GO_ADAPTER, GO_CODE) if is_go else (ADAPTER, CODE)
    program = EXECUTED[language].calls.claims_program(
        claims_in("[], 1 => []", 1), adapter, code, ()
    )
    assert EXECUTED[language].rules.demands_emptiness(program, code)
    assert not EXECUTED[language].rules.expects_by_arguments(program, code)
