"""A small collection of queries and functions, and the model that judges its pairs."""

from typing import Any

from tests.flows.world import Case, judged, rule, screened, written

_DELAY_S = 0.4  # so that the run's graph shows who worked when
_PROGRAM = "from target import {name}\n\ndef test_it():\n    assert {call} == {value}\n"


def _case(query: str, call: str, value: object, body: str, *, parameters: str = "text") -> Case:
    """Return a query and the function that answers it, which the model finds out by a test."""
    name = call.partition("(")[0]
    code = f'def {name}({parameters}):\n    """{query.capitalize()}."""\n    return {body}'
    program = _PROGRAM.format(name=name, call=call, value=repr(value))
    return Case(query, code, (screened("unclear"), written(program), judged("answers")))


FORMER: tuple[Case, ...] = (
    _case("reverse the characters of a string", "reversed_text('abc')", "cba", "text[::-1]"),
    _case("count the vowels in a word", "vowels('banana')", 3, "sum(c in 'aeiou' for c in text)"),
    _case("remove spaces from a string", "without_spaces('a b')", "ab", "text.replace(' ', '')"),
    _case("check whether a word is a palindrome", "palindrome('abba')", True, "text == text[::-1]"),
    _case("first word of a sentence", "first_word('a b')", "a", "text.split()[0]"),
    _case("largest number of a list", "largest([1, 3])", 3, "max(items)", parameters="items"),
    _case("sum of the squares of a list", "squares([1, 2])", 5, "sum(n * n for n in items)",
          parameters="items"),
    _case("unique items of a list in order", "unique([2, 1, 2])", [2, 1],
          "list(dict.fromkeys(items))", parameters="items"),
)  # fmt: skip
ADDED: tuple[Case, ...] = (
    _case("merge two dictionaries", "merged({1: 2}, {3: 4})", {1: 2, 3: 4}, "{**first, **second}",
          parameters="first, second"),
    _case("celsius to fahrenheit", "fahrenheit(100)", 212, "degrees * 9 / 5 + 32",
          parameters="degrees"),
    _case("split a list into chunks", "chunks([1, 2, 3], 2)", [[1, 2], [3]],
          "[items[i:i + size] for i in range(0, len(items), size)]", parameters="items, size"),
)  # fmt: skip


def script() -> list[dict[str, Any]]:
    """Return the model's rules: a query's own function answers it, any other does not."""
    own = [
        {"query": case.query, "code": case.code.splitlines()[0]} | item
        for case in (*FORMER, *ADDED)
        for item in case.rules
    ]
    others = [rule("screener", {"reply": {"reason": "as scripted", "verdict": "clear_non_match"}})]
    return [_slow(item) for item in [*own, *({"query": "*"} | item for item in others)]]


def _slow(item: dict[str, Any]) -> dict[str, Any]:
    return item | {"steps": [step | {"delay_s": _DELAY_S} for step in item["steps"]]}
