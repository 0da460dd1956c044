"""Laws of claims as a model writes them: what is read, what is passed over, what is equal."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.claims.claim import Claim, are_arguments, claims_in, is_value, same_value, unread_line

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts),
    max_leaves=6,
)


@given(st.lists(VALUES, min_size=1, max_size=3), VALUES)
def test_what_is_written_as_literals_is_read_back(arguments: list[object], value: object) -> None:
    claim = Claim(arguments=", ".join(map(repr, arguments)), value=repr(value))
    assert claims_in(str(claim), 1) == (claim,)


@pytest.mark.parametrize(
    "line",
    ["[3, 1] => [1, 3]", "- [3, 1] => [1, 3]", "2. [3, 1] => [1, 3]", "`[3, 1] => [1, 3]`"],
)
def test_marks_of_lists_and_code_around_a_line_do_not_matter(line: str) -> None:
    assert claims_in(line, 9) == (Claim(arguments="[3, 1]", value="[1, 3]"),)


@pytest.mark.parametrize(
    ("text", "arguments", "value"),
    [
        ("`[3, 1], 2` => `[1, 3]`", "[3, 1], 2", "[1, 3]"),
        ("- `'x'` => `raises ValueError`", "'x'", "raises ValueError"),
        ("-1 => raises ValueError  # neg", "-1", "raises ValueError"),
        ("-1 => raises ValueError (negative)", "-1", "raises ValueError"),
        ("['#'] => '# a'  # it's joined", "['#']", "'# a'"),
        ("first([3, 1], 2) => [1, 3]", "[3, 1], 2", "[1, 3]"),
        ("`now()` => 1", "", "1"),
        ("io.StringIO('a\nb\n') => 2", r"io.StringIO('a\nb\n')", "2"),
        ("1. 'a\tb\r\nc' => ['a']", "'a\tb\\r\\nc'", "['a']"),
        ("1 => 'a\n\nb'", "1", r"'a\n\nb'"),
        ("[1, 2,\n 3] => 6", "[1, 2,  3]", "6"),
    ],
)
def test_everyday_spelling_loses_no_claim(text: str, arguments: str, value: str) -> None:
    assert claims_in(f"it's so:\n{text}\n3 => 4", 9) == (
        Claim(arguments=arguments, value=value),
        Claim(arguments="3", value="4"),
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "date(2020, 1, 2)", "Counter('ab')", "Decimal('1.5')", "sorted([2, 1])", "StringIO('a')",
        "np.array([1])", "first([1]), 2", "partial(max, 1)", "array([1])", "zip('a', 'b')",
    ],
)  # fmt: skip
def test_a_call_that_makes_an_argument_stays(arguments: str) -> None:
    assert claims_in(f"{arguments} => 1", 9) == (Claim(arguments=arguments, value="1"),)


def test_an_apostrophe_swallows_no_line() -> None:
    text = "- the list's head (1 => 2\n- 1 => 2\nit's [3] => 4\n\n5 => 'a'"
    assert [str(claim) for claim in claims_in(text, 9)] == ["1 => 2", "5 => 'a'"]


def test_an_arrow_inside_a_text_is_part_of_the_text() -> None:
    assert claims_in("'a => b', 1 => ['a => b']", 9) == (
        Claim(arguments="'a => b', 1", value="['a => b']"),
    )


def test_a_line_that_holds_no_claim_is_passed_over() -> None:
    for line in [
        "", "the list sorted", "1)(2 => 3", "*[1] => 2", "1 => ", "[1, ...] => 1", "1 => [...]",
        "f([1]) => […]", "f(**x) => 1) => 2",
        "(a := 1) => 2", "1; import os => 2", "1 => 2; 3", "1 => raises Exception",
        "1 => raises AssertionError", "1 => 2)(3",
        "1 => __import__('target').first(1)", "1 => pathlib.sys.modules", "1 => (1).__class__",
        "1 => eval('1')", "lambda: (yield) => 1", f"{'1' * 2_000} => 1",
        f"{'(' * 500}1{')' * 500} => 1", f"1{'+1' * 400} => 1",
    ]:  # fmt: skip
        assert claims_in(line, 9) == ()


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("f([3, 1], 2) => [3]", "[3, 1], 2 => [3]"),
        ("f(items=[3, 1], n=2) => [3]", "[3, 1], 2 => [3]"),
        ("[3, 1], n=2 => [3]", "[3, 1], 2 => [3]"),
        ("[3, 1] -> 2", "[3, 1] => 2"),
        ("rotate([1]) → [1]", "[1] => [1]"),
        ("f(1) == '->'", "1 => '->'"),
        ("'a->b', '==' => 'x == y'", "'a->b', '==' => 'x == y'"),
        ("f(file('a', name='x')) => 1", "file('a', name='x') => 1"),
    ],
)
def test_what_weak_models_write_in_a_way_of_their_own_is_read(line: str, claim: str) -> None:
    assert [*map(str, claims_in(line, 9))] == [claim]


def test_the_first_line_that_holds_no_claim_is_told() -> None:
    assert unread_line("1 => 2\n\nrotates it\n[3, 1] => […]") == "rotates it"
    assert unread_line("- f(1) => 2\n\n") == ""
    assert unread_line("f('a\nb') => 'b'\n1 => 2") == "", "a text goes on in the next line"


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for claim in claims_in(text, 9):
        assert are_arguments(claim.arguments)
        assert is_value(claim.value)
    same_value(text, "1")


def test_claims_are_bounded_and_none_is_taken_twice() -> None:
    lines = "\n".join(["1 => 2", "1 => 2", *(f"{number} => 0" for number in range(9))])
    assert len(claims_in(lines, 4)) == len(set(claims_in(lines, 4))) == 4


def test_an_exception_may_be_demanded() -> None:
    (claim,) = claims_in("'' => raises ValueError", 1)
    assert claim.error_type == "ValueError"
    assert Claim(arguments="1", value="'raises'").error_type == ""


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("[1, 2]", "(1, 2)", True), ("1", "1.0", True), ("0.1", "0.10000000000001", True),
        ("'a'", '"a"', True), ("[1]", "[2]", False), ("'1'", "1", False),
        ("raises KeyError", "raises  KeyError", True), ("date(2, 1, 2)", "date(2,1,2)", True),
        ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", True), ("[True]", "[1]", True),
        ("6e-17", "0", True), ("{1, 2}", "[1, 2]", False),
    ],
)  # fmt: skip
def test_values_are_equal_as_python_says(one: str, other: str, equal: bool) -> None:
    assert same_value(one, other) is equal


@pytest.mark.parametrize(
    ("value", "demand"),
    [
        ("contains 'a b'", ("", "contains", "'a b'")),
        ("prints contains 'a'", ("prints", "contains", "'a'")),
        (r"matches r'\d{4}-[\dX]+'", ("", "matches", r"r'\d{4}-[\dX]+'")),
        ("matches '(?:a|b)*c'", ("", "matches", "'(?:a|b)*c'")),
        ("matches r'.{8}'", ("", "matches", "r'.{8}'")),
        ("one of [1, 2]", ("", "one of", "[1, 2]")),
        ("prints one of ['a', 'b']", ("prints", "one of", "['a', 'b']")),
        ("one of [date(2018, 5, 6), 6]", ("", "one of", "[date(2018, 5, 6), 6]")),
        ("prints lines 'a'", ("prints lines", "", "'a'")),
        ("[1]", ("", "", "[1]")),
    ],
)
def test_less_than_a_value_may_be_demanded(value: str, demand: tuple[str, str, str]) -> None:
    (claim,) = claims_in(f"5 => {value}", 9)
    assert claim.demand == demand


@pytest.mark.parametrize(
    "value",
    [
        "contains ''", "contains ' . '", "contains 5", "contains x", "contains ['a']",
        "prints lines contains 'a'", "writes contains 'a'", "matches r'.*'", "matches '.+'",
        r"matches r'[\s\S]*'", r"matches r'\S+'", "matches 'x|.*'", "matches r'(a|b'", "matches ''",
        "matches r'(?=a)b'", r"matches r'(a)\1'", "matches r'a++'", "matches r'a{1,2000}'",
        "matches r'[[:alpha:]]'", "matches r'(?i)a'", f"matches r'{'a' * 300}'", "matches 5",
        "one of [1]", "one of []", "one of 5", "one of [True, False]", "one of [0, 1, 2]",
        "one of [1, 2, 3, 4, 5, 6]", "one of x", "one of 'ab'",
        "one of [__import__('os'), 1]", "one of [date(1, 1, 1), True, False]",
    ],
)  # fmt: skip
def test_what_every_value_is_and_what_languages_read_otherwise_is_not_demanded(value: str) -> None:
    assert claims_in(f"5 => {value}", 9) == ()


@pytest.mark.parametrize(
    ("value", "demand", "met"),
    [
        ("'Hello dear Bob'", "contains 'Hello Bob'", True),
        ("contains 'Hello Bob'", "contains 'Hello Bob'", True),
        ("contains 'Hello'", "contains 'Hello Bob'", False),
        ("prints 'a  b\\nc'", "prints contains 'a c'", True),
        ("'a c'", "prints contains 'a c'", False), ("prints 'a'", "contains 'a'", False),
        ("2", "one of [1, 2]", True), ("one of [1, 2]", "2", True), ("3", "one of [1, 2]", False),
        ("datetime.date(2018, 5, 6)", "one of [6, datetime.date(2018, 5, 6)]", True),
        ("datetime.date(2018, 5, 7)", "one of [6, datetime.date(2018, 5, 6)]", False),
        ("raises ValueError", "one of [1, 2]", False), ("open", "one of [1, 2]", False),
        ("'12'", r"matches r'\d+'", True), ("'1x'", r"matches r'\d+'", False),
        (f"'{'a' * 60}!'", "matches r'(a+)+'", False),
    ],
)  # fmt: skip
def test_a_value_meets_a_demand_for_less(value: str, demand: str, met: bool) -> None:
    assert same_value(value, demand) is met


@pytest.mark.parametrize(
    ("claim", "needs_work"),
    [
        ("'a b' => contains 'a'", False), ("'a' => contains 'a b'", True),
        ("2 => one of [2, 3]", False), ("[2, 3] => one of [2, 3]", True),
        (r"'12' => matches r'\d+'", False), (r"12 => matches r'\d+'", True),
        ("'a' => prints contains 'a'", True),
    ],
)  # fmt: skip
def test_an_argument_that_meets_a_demand_shows_no_work(claim: str, needs_work: bool) -> None:
    (read,) = claims_in(claim, 1)
    assert read.needs_work is needs_work


@pytest.mark.parametrize("value", [f"a{'+a' * 600}", f"a{'.a' * 900}", f"{'(' * 150}a{')' * 150}"])
def test_a_value_of_any_depth_is_compared_without_an_error(value: str) -> None:
    assert same_value(value, "1") is False
    assert same_value(value, value) is True


@pytest.mark.parametrize("line", ["'" + "=>'" * 330, "1 => a b", "1 => 1", "'", "(", "\\'"])
def test_the_time_to_read_a_text_grows_with_its_length_and_not_with_its_square(line: str) -> None:
    def reading_s(lines: int) -> float:
        started = time.process_time()
        claims_in("\n".join([line] * lines), 9)
        return time.process_time() - started

    assert reading_s(20_000) < 40 * max(reading_s(2_000), 0.01)  # ten times the text; a square: 100
