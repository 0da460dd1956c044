"""One table of values, which claims on code of each language compare by the same rule.

Covers `agents.claims.values` and the texts of JavaScript and Go in `agents.claims.languages`.
"""

from typing import NamedTuple

import pytest

from agents.claims.claim import Claim
from agents.claims.executed import EXECUTED
from agents.claims.program import claim_runs
from infra.languages import languages
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS


class Row(NamedTuple):
    """What a code gives, in each language that has it, and whether that is what is demanded."""

    demanded: str
    is_alike: bool
    python: str = ""
    javascript: str = ""
    go: str = ""


INF, GO_INF = "float('inf')", "math.Inf(1)"
ROWS = (
    # What is not finite is itself alone.
    Row("4", False, INF, "Infinity", GO_INF),
    Row("4", False, f"-{INF}", "-Infinity", "math.Inf(-1)"),
    Row("-1e308", False, "1e308", "1e308", "1e308"),
    Row("float('inf')", False, "1e308", "Number.MAX_VALUE", "math.MaxFloat64"),
    Row("float('inf')", True, INF, "Infinity", GO_INF),
    Row("float('inf')", False, f"-{INF}", "-Infinity", "math.Inf(-1)"),
    Row("float('inf')", False, "10 ** 400", "10n ** 400n"),
    Row("float('-inf')", True, f"-{INF}", "-Infinity", "math.Inf(-1)"),
    Row("float('nan')", True, "float('nan')", "NaN", "math.NaN()"),
    Row("float('nan')", False, INF, "Infinity", GO_INF),
    Row("float('nan')", False, "1.5", "1.5", "1.5"),
    Row("1.5", False, "float('nan')", "NaN", "math.NaN()"),
    Row("0", False, "float('nan')", "NaN", "math.NaN()"),
    Row("[2]", False, f"[{INF}]", "[Infinity]", "[]float64{math.Inf(1)}"),
    Row("[[1, 2.5]]", False, "[[1, float('nan')]]", "[[1, NaN]]", "[][]float64{{1, math.NaN()}}"),
    Row("[1, float('nan')]", True, "[1, float('nan')]", "[1, NaN]", "[]float64{1, math.NaN()}"),
    Row("{'': 2}", False, f"{{'': {INF}}}", "({'': 1 / 0})", 'map[string]any{"": math.Inf(1)}'),
    Row("{3}", False, f"{{{INF}}}", "new Set([Infinity])", "map[float64]bool{math.Inf(1): true}"),
    # The last digits of what is not whole do not count.
    Row("0", True, "-0.0", "-0", "math.Copysign(0, -1)"),
    Row("-0.0", True, "0", "0", "0"),
    Row("0.3", True, "0.1 + 0.2", "0.1 + 0.2", "math.Sqrt(0.09) + 4e-17"),
    Row("0", True, "1e-10", "1e-10", "1e-10"),
    Row("0", False, "1e-8", "1e-8", "1e-8"),
    Row("1000000.5", True, "1000001.0", "1000001", "1000001.0"),
    Row("1.0", False, "1.001", "1.001", "1.001"),
    Row("2", True, "2.0", "2.0", "2.0"),
    Row("2.0", True, "2", "2", "2"),
    Row("1e300", True, "1.0000000001e300", "1.0000000001e300", "1.0000000001e300"),
    # Those of whole numbers do.
    Row("1000000000", False, "1000000001", "1000000001", "1000000001"),
    Row("1000000000", True, "1000000000", "1000000000n", "int64(1000000000)"),
    Row("9007199254740991", False, "9007199254740990", "9007199254740990", "9007199254740990"),
    Row("9223372036854775807", False, "9223372036854775806", "", "int64(9223372036854775806)"),
    Row("18446744073709551615", True, "2 ** 64 - 1", "", "uint64(math.MaxUint64)"),
    Row("10 ** 400", False, INF, "", GO_INF),
    # Truth is a number, a text is none.
    Row("True", True, "1", "1", "1"),
    Row("1", True, "True", "true", "true"),
    Row("0", True, "False", "false", "false"),
    Row("1", False, "'1'", "'1'", '"1"'),
    Row("'1'", False, "1", "1", "1"),
    Row("None", False, "0", "0", "0"),
    Row("0", False, "None", "null", "nil"),
    Row("''", False, "None", "null", "nil"),
    Row("'inf'", False, INF, "Infinity", GO_INF),
    # Containers by their parts.
    Row("[1, [2, [3.0]]]", True, "(1, (2, (3,)))", "[1, [2, [3]]]", "[]any{1, []any{2, []int{3}}}"),
    Row("[1, 2]", False, "[1, 2, 3]", "[1, 2, 3]", "[]int{1, 2, 3}"),
    Row("[1, 2]", False, "[2, 1]", "[2, 1]", "[]int{2, 1}"),
    Row("[1, 2]", False, "[1]", "[1]", "[]int{1}"),
    Row("[]", False, "[[]]", "[[]]", "[][]int{{}}"),
    Row("{'a': 1}", False, "{'a': 1, 'b': 2}", "({a: 1, b: 2})", 'map[string]int{"a": 1, "b": 2}'),
    Row("{'a': 1, 'b': 2}", False, "{'a': 1}", "new Map([['a', 1]])", 'map[string]int{"a": 1}'),
    Row("{'1': 2}", False, "{'1': 2, '2': 2}", "new Map([[1, 3], ['1', 2]])"),
    Row("{'a': [1]}", True, "{'a': (1,)}", "new Map([['a', [1]]])", 'map[string][]int{"a": {1}}'),
    Row("{1, 2}", True, "{2, 1}", "new Set([2, 1])", "map[int]bool{2: true, 1: true}"),
    Row("{3, 20}", True, "{20, 2.9999999999999996}", "new Set([20, 2.9999999999999996])"),
    Row("{1, 2}", False, "{1, 3}", "new Set([1, 3])", "map[int]bool{1: true, 2: false, 3: true}"),
    Row("[]", False, "None", "null"),  # in Go a slice of nothing is nil
    # Less than a value.
    Row("contains 'a c'", True, "'a, b c!'", "'a, b c!'", '"a, b c!"'),
    Row("contains 'a c'", True, "['a b', 'c']", "['a b', 'c']", '[]string{"a b", "c"}'),
    Row("contains 'c a'", False, "'a b c'", "'a b c'", '"a b c"'),
    Row("contains 'a'", False, "'ab'", "'ab'", '"ab"'),
    Row("contains 'a a'", False, "'a b'", "'a b'", '"a b"'),
    Row("contains '$5 né.'", True, "'cost: $5 (né.)'", "'cost: $5 (né.)'", '"cost: $5 (né.)"'),
    Row("contains '1'", False, "1", "1", "1"),
    Row(r"matches r'\d+-[a-z]?'", True, "'12-'", "'12-'", '"12-"'),
    Row(r"matches r'\d+-[a-z]?'", False, "'x12-'", "'x12-'", '"x12-"'),
    Row(r"matches r'\d+'", False, "'12\\n'", "'12\\n'", '"12\\n"'),
    Row(r"matches r'\d'", False, "2", "2", "2"),
    Row("matches r'a|bc'", False, "'ac'", "'ac'", '"ac"'),
    Row(r"matches r'[^\s(]+\('", True, "'a('", "'a('", '"a("'),
    Row("one of [1, 'x']", True, "'x'", "'x'", '"x"'),
    Row("one of [2, 3]", True, "2.0", "2", "2"),
    Row("one of {2, 3}", False, "4", "4", "4"),
    Row("one of [[1], [2]]", True, "(2,)", "[2]", "[]int{2}"),
    Row("one of [datetime.date(2020, 1, 2), 2]", True, "datetime.date(2020, 1, 2)"),
    Row("one of [datetime.date(2020, 1, 2), 2]", False, "datetime.date(2020, 1, 3)"),
    Row("one of [1, 2]", False, "[1, 2]", "[1, 2]", "[]int{1, 2}"),
    # Values of types that have a text of their own.
    Row("'2020-01-02'", True, "", "new Date(1577923200000)", "time.Unix(1577923200, 0).UTC()"),
    Row("'2020-01-02 00:00:01'", False, "", "new Date(1577923200000)", "time.Unix(1577923200, 0)"),
    # What one language alone has.
    Row("1j", True, "1j"),
    Row("1j", False, f"complex(0, {INF})"),
    Row("complex(1, 0)", True, "1"),
    Row("b'a'", True, "bytearray(b'a')"),
    Row("'a'", True, "", "", "'a'"),
    Row("'ab'", True, "", "", '[]byte("ab")'),
    Row("'1m0s'", True, "", "", "time.Minute"),
    Row("'2m0s'", False, "", "", "time.Minute"),
    Row("60000000000", True, "", "", "time.Minute"),
)  # fmt: skip
CODES = {
    "python": "def same(n):\n    return [{}][n]",
    "javascript": "function same(n) {{\n  return [{}][n];\n}}",
    "go": "func same(n int) any {{\n\treturn []any{{{}}}[n]\n}}",
}
ADAPTERS = {
    "python": "def answer(n):\n    return same(n)",
    "javascript": "function answer(n) { return same(n); }",
    "go": "func answer(n int) any { return same(n) }",
}
ROOMY = LIMITS.model_copy(update={"memory_mb": 512, "timeout_s": 20.0, "ready": 0})


@pytest.mark.docker
@pytest.mark.parametrize(
    "language",
    ["python", "javascript", pytest.param("go", marks=pytest.mark.nightly)],  # it makes an image
)
async def test_values_are_alike_by_one_rule_in_each_language(language: str) -> None:
    rows = [(row, given) for row in ROWS if (given := getattr(row, language))]
    code = CODES[language].format(", ".join(given for _, given in rows))
    claims = [Claim(arguments=str(n), value=row.demanded) for n, (row, _) in enumerate(rows)]
    adapter, wrapper = ADAPTERS[language], EXECUTED[language].calls
    assert wrapper.adapter_fault(adapter, code) == ""
    program = wrapper.claims_program(claims, adapter, code, ())
    async with (
        real_sandbox(ROOMY) as sandbox,
        sandbox.box(
            languages.get(language)().with_support_code(code, "", scaffolding=True),
            language=language,
        ) as box,
    ):
        found = claim_runs(claims, await box.run(program))
    outcomes = {True: "held", False: "failed"}
    wrong = [
        (row.demanded, given, run.outcome, run.gave)
        for (row, given), run in zip(rows, found, strict=True)
        if run.outcome != outcomes[row.is_alike]
    ]
    assert wrong == []
