"""Laws of the values that calls give: which are equal, and that the code has no say in it.

One table of values is compared by the same rule in each language. Covers `agents.claims.values`,
and the texts of JavaScript and Go in `agents.claims.languages`.
"""

import array
import math
from collections import OrderedDict, deque
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.claims.claim import Claim
from agents.claims.executed import EXECUTED
from agents.claims.program import claim_runs
from agents.claims.values import approx_equal, canonical_strings, relaxed_equal, text_of, to_plain
from infra.languages import languages
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS

NAN = float("nan")
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.binary(max_size=8) | st.complex_numbers(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts),
    max_leaves=6,
)  # fmt: skip


def test_what_is_equal_but_for_kind_and_last_digits_is_alike() -> None:
    for one, other in [
        (1e9, 10**9), (1234567890.0, 1234567890), (-0.0, 0), (2.0, 2), (0.1 + 0.2, 0.3),
        (math.cos(math.pi / 2), 0), (0.3 - 0.1 - 0.2, 0), (1 / 3, 0.333333), (NAN, NAN),
        (np.float32(0.1), 0.1), (np.array([0.1, 2], "f4"), [0.1, 2]), (np.int64(3), 3),
        ([1, 0], [True, False]), ({"a": 1.0}, OrderedDict(a=True)), ({2.0: "a"}, {2: "a"}),
        (deque([1, 2]), [1, 2]), (array.array("i", [1]), (1,)), (bytearray(b"x"), b"x"),
        (Decimal("2.50"), 2.5), (Fraction(1, 2), 0.5), (complex(1, 1e-17), 1), ({1, 2.0}, {2, 1}),
        ({"a": 1}.items(), [("a", 1)]), (iter("ab"), ["a", "b"]), (range(3), [0, 1, 2]),
    ]:  # fmt: skip
        first, second = to_plain(one), to_plain(other)
        assert approx_equal([first], [second]), (one, other)
        assert approx_equal([second], [first]), (one, other)


def refilled(*contents: list[int]) -> Iterator[list[int]]:
    """Yield one list for all contents."""
    kept: list[int] = []
    for content in contents:
        kept[:] = content
        yield kept


def test_parts_are_what_a_list_of_them_holds_and_groups_are_read_at_their_turn() -> None:
    assert (
        to_plain(refilled([1], [2], [3]))
        == [[3], [3], [3]]
        == to_plain(list(refilled([1], [2], [3])))
    )
    assert to_plain((part, 1) for part in refilled([1], [2])) == [[[2], 1], [[2], 1]]
    assert to_plain(part.copy() for part in refilled([1], [2])) == [[1], [2]]
    assert to_plain(groupby("aab")) == [["a", ["a", "a"]], ["b", ["b"]]]
    assert to_plain(group for _, group in groupby("aab")) == [["a", "a"], ["b"]]


def test_what_differs_is_not_alike() -> None:
    for one, other in [
        (1, 2), (1, "1"), (1.0, 1.001), (1e-3, 2e-3), (10**30, 10**30 + 1), (10**400, 1e300),
        (NAN, 1), (NAN, float("inf")), (float("inf"), 1e308), (float("inf"), -float("inf")),
        ([1], [1, 2]), ([1, 2], {1, 2}), ({(1, 2)}, {1: 2}), ({}, set()), ([], None), (b"a", "a"),
        (None, False), (None, "None"), ("", 0), ([[1], 2], [1, [2]]), ({"a": 1}, {"a": 2}),
        ("raises ValueError", ("raises", "raises ValueError")),
    ]:  # fmt: skip
        assert not approx_equal(to_plain(one), to_plain(other))
        assert not approx_equal(to_plain(other), to_plain(one))


def test_another_form_is_pairs_for_keys_or_a_path_for_its_name() -> None:
    for one, other in [
        ({"a": 1, "b": 2}, ["a", "b"]), ([("a", 1), ("b", 2)], ["a", "b"]), (["b.c"], ["/a/b.c"]),
        ([("b", 2), ("a", 1)], {"a": 1, "b": 2}), ({"a": ["x/y"]}, {"a": ["y"]}), ("a/b/", "b"),
        ([[1, 2], [3, 4]], [1, 3]), ([{"x/a": 1}], [["a"]]), ({}, []),
    ]:  # fmt: skip
        assert relaxed_equal(to_plain(one), to_plain(other)), (one, other)
        assert relaxed_equal(to_plain(other), to_plain(one)), (one, other)


def test_another_value_is_no_other_form() -> None:
    for one, other in [
        ({"a": 1}, {"a": 2}), ([("a", 1)], [("a", 2)]), ([[1, 2], [3, 4]], [[1, 5], [3, 6]]),
        ({"a": 1}, [("a", 2)]), ([["f", "x"]], [["f", None]]), ({"a": {"b": 1}}, {"a": {"b": 2}}),
        ({"a": 1}, ["b"]), ({"a": 1}, ["a", "b"]), ("x/b", "y/b"), ("1/2", "2"), ("a/", ""),
        ({}, None), (2, 3), ([2], [3]), ({"a"}, ["a"]),
    ]:  # fmt: skip
        assert not relaxed_equal(to_plain(one), to_plain(other)), (one, other)
        assert not relaxed_equal(to_plain(other), to_plain(one)), (one, other)


@given(LITERALS)
def test_a_value_is_alike_itself_and_has_a_text(value: object) -> None:
    assert approx_equal(to_plain(value), to_plain(value))
    assert relaxed_equal(to_plain(value), to_plain(value))
    assert type(text_of(to_plain(value))) is str


def test_an_iterator_without_end_is_read_in_part() -> None:
    assert len(str(to_plain(iter(int, 1)))) == 30_000


def test_no_object_of_the_code_says_whether_it_is_equal() -> None:
    class Agreeing(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            return True

        def __format__(self, form: str) -> str:
            return self

    class Shown:
        def __str__(self) -> str:
            return Agreeing("1")

    class Number(float):
        __hash__ = float.__hash__

        def __eq__(self, other: object) -> bool:
            return True

        def __pos__(self) -> float:
            return 1.0

    for value in (Agreeing("1"), Number(2.5)):
        assert not approx_equal(to_plain(value), to_plain(7))
        assert not approx_equal(to_plain([value]), to_plain(["7"]))
    assert {type(text_of(to_plain(one))) for one in (Shown(), Number(2.5), Agreeing("1"))} == {str}
    parts = to_plain([Number(2.5), Agreeing("1")])
    assert isinstance(parts, list)
    assert [type(part) for part in parts] == [float, str]


def test_no_object_of_the_code_says_what_it_is() -> None:
    """Neither by its class, nor by its class's class."""

    class Lying(type):
        __name__ = "Decimal"
        __mro__ = (float, object)

        def __eq__(cls, other: object) -> bool:
            return True

        __hash__ = type.__hash__

        def __instancecheck__(cls, instance: object) -> bool:
            return True

        def __subclasscheck__(cls, other: type) -> bool:
            return True

    def agreeing(kind: object) -> object:
        same = {"__eq__": lambda self, other: True, "__ne__": lambda self, other: False}
        lie = {"__class__": property(lambda self: kind), "__hash__": lambda self: 7}
        return Lying("Agreeing", (), {**same, **lie, "__float__": lambda self: 7.0})()

    kinds = (bool, int, float, complex, str, bytes, dict, set, list, tuple, map, type(None), type)
    for kind in kinds:
        lie = agreeing(kind)
        for demanded in (7, 7.0, True, "7", b"7", None, [7], {7: 7}, {7}, "object", [], {}):
            assert not approx_equal(to_plain(lie), to_plain(demanded)), (kind, demanded)
            assert not approx_equal(to_plain([lie]), to_plain([demanded])), (kind, demanded)
        assert type(canonical_strings(lie)[0]) is str


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
