"""An adapter in JavaScript hands on and out, and claims are said in that language or not run.

Covers `agents.claims.javascript`; `tests/agents/committee/test_javascript.py` runs the programs.
"""

import pytest

from agents.claims.claim import claims_in
from agents.claims.javascript import adapter_fault, claims_program, said
from agents.claims.program import is_claims_program
from agents.claims.spelling import UnknownValueError
from infra.languages.javascript import JavaScript

CODE = "function first(n, items) { return items.slice(0, n); }"
ADAPTER = "function answer(items, n) { return first(n, items); }"


@pytest.mark.parametrize(
    "body",
    [
        "return first(n, items);",
        "const given = [n, ...items];\n  return first(n, given);",
        "const found = await first(n, { items, n: -1 });\n  return found.values[0];",
        "first(n, items);\n  return items;",
        "return Object.entries(first(new Map(items), new Date(0)));",
        "return [...first(n, items)];",
        "// as it is\n  return (first(2, first(n, items)));",
    ],
)
def test_an_adapter_calls_and_hands_out(body: str) -> None:
    assert adapter_fault(f"async function answer(items, n) {{\n  {body}\n}}", CODE) == ""


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_an_adapter_that_computes_is_none(text: str) -> None:
    assert adapter_fault(text, CODE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ([1, -2.5, (True, "a'\n")], '[(1), (-2.5), [true, "a\'\\n"]]'),
        ({"__proto__": {1}}, '{ ["__proto__"]: new Set([(1)]) }'),
        (float("-inf"), "(-Infinity)"),
    ],
)
def test_values_are_said_in_javascript(value: object, text: str) -> None:
    assert said(value) == text


@pytest.mark.parametrize("value", [2**60, {1: 2}, b"a", 1j, float])
def test_values_that_javascript_has_not_are_refused(value: object) -> None:
    with pytest.raises(UnknownValueError):
        said(value)


def test_each_claim_is_a_test_and_one_that_cannot_be_said_raises() -> None:
    examples = "[3, 1], 1 => [3]\n[1], 0 => raises ValueError\n[1], 1 => prints '1'\nb'a', 1 => 1\n"
    claims = claims_in(f"{examples}[1], 2 => leaves {{'a': 1}}", 5)
    program = claims_program(claims, ADAPTER, CODE)
    assert is_claims_program(program)
    assert not JavaScript().root_of(program).has_error
    assert [
        line.strip() for line in program.splitlines() if line.startswith("  return claims.")
    ] == [
        "return claims.gives([[(3), (1)], (1)], [(3)]);",
        'return claims.raises([[(1)], (0)], "ValueError");',
        "return claims.prints([[(1)], (1)], \"1\", 'words');",
    ]
    assert program.count('throw new Error("not said in JavaScript') == 2
