"""Laws of values as source: what is known without running it, how far, and what is said alike."""

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.claims.claim import claims_in, same_value, states_value
from agents.claims.literals import UnknownValueError, literal_eval, normalised
from agents.claims.values import approx_equal, to_plain
from agents.roles.specify import DemandedValue
from tests.agents.claims.test_claim import VALUES

OPERATORS = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])
PARTS = st.integers(-3, 9).map(repr) | st.floats(0, 9).map(repr) | st.sampled_from(["'ab'", "[1]"])
SUMS = st.recursive(
    PARTS,
    lambda parts: st.tuples(parts, OPERATORS, parts).map(lambda found: f"({' '.join(found)})"),
    max_leaves=5,
)


def test_one_value_may_be_written_in_many_ways() -> None:
    for one, other in [
        ("1/3", "0.3333333333333333"), ("2**10", "1024"), ("'a'*3", "'aaa'"), ("3 * 'a'", "'aaa'"),
        ("math.sqrt(2)", "1.4142135623730951"), ("sqrt(2)", "math.sqrt(2)"), ("[1]*3", "[1, 1, 1]"),
        ("np.array([1])", "[1]"), ("numpy.array([[1, 2], [3, 4]])", "[[1, 2], [3, 4]]"),
        ("Counter({'a': 1})", "{'a': 1}"), ("collections.Counter('aab')", "{'a': 2, 'b': 1}"),
        ("Decimal('1.5')", "1.5"), ("Fraction(1, 2)", "0.5"), ("range(3)", "[0, 1, 2]"),
        ("list(range(3))", "[0, 1, 2]"), ("'a' + 'b'", "'ab'"), ("(5 - 32) * 5 / 9", "-15.0"),
        ("set()", "set()"), ("set([1, 2])", "{2, 1}"), ("frozenset({1})", "{1}"),
        ("tuple([1, 2])", "[1, 2]"), ("float('nan')", "math.nan"), ("-math.inf", "float('-inf')"),
        ("math.pi", "3.141592653589793"), ("np.float64(2.5)", "2.5"), ("1e3", "1000"),
        ("datetime.date(2020, 1, 2)", "date(2020, 1, 2)"), ("5  # five", "5"),
        ("[1, 3],", "([1,3],)"),
        ("raises json.JSONDecodeError", "raises JSONDecodeError"), ("{'a': 1/2}", "{'a': 0.5}"),
    ]:  # fmt: skip
        assert same_value(one, other)
        assert same_value(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1/3", "0.33"), ("'a'*3", "'aa'"), ("np.array([1]) * 2", "[1, 1]"),
        ("np.array([1]) + np.array([2])", "[1, 2]"), ("np.array('ab')", "['a', 'b']"),
        ("Path('a.b')", "Path('b')"), ("len([1])", "1"), ("eval('1')", "1"), ("x.sqrt(4)", "2"),
        ("date(2020, 1, 2)", "date(2020, 2, 1)"), ("raises KeyError", "raises ValueError"),
        ("Counter('aab')", "{'a': 1, 'b': 1}"), ("set([1])", "[1]"),
    ],
)  # fmt: skip
def test_other_values_and_what_is_not_known_are_not_the_same(one: str, other: str) -> None:
    assert not same_value(one, other)


@given(VALUES)
def test_a_literal_has_the_value_that_python_gives_it(value: object) -> None:
    assert literal_eval(repr(value)) == ast.literal_eval(repr(value))


@given(SUMS)
def test_a_sum_has_the_value_that_python_gives_it_or_none(text: str) -> None:
    try:
        known = literal_eval(text)
    except UnknownValueError:
        return
    assert approx_equal(to_plain(known), to_plain(eval(text)))


def test_what_is_large_or_would_have_to_be_run_has_no_known_value() -> None:
    for text in [
        "9**9**9**9", "2**10**9", "'a' * 10**9", "10**9 * [0]", "[[0] * 9000] * 9000",
        "range(10**12)", "list(range(10**9))", "math.factorial(10**6)", "'%9999999999d' % 3",
        "Counter([[]])", "1 / 0", "math.sqrt(-1)",
        "2.0 ** 10**9", "{[]: 1}", "[*range(3)]", "{**{}}", "f'{1}'", "int('9' * 9999)",
        "Fraction('1e999999999')", "__import__('os')", "np.array([1], dtype=int)", "open('x')", "",
        "1 if 2 else 3", "[x for x in [1]]", "(lambda: 1)()", "[1][0]", "'a'.upper()",
    ]:  # fmt: skip
        started = time.process_time()
        with pytest.raises(UnknownValueError):
            literal_eval(text)
        assert time.process_time() - started < 1, text


def test_the_second_reader_confirms_a_value_however_it_is_spelt() -> None:
    for claim, said in [
        ("'abc' => 'cba'", "cba"), ("'abc' => 'cba'", '"cba"'), ("'a' => 'a b'", "a b"),
        ("1 => True", "true"), ("1 => None", "null"), ("1 => raises ValueError", "ValueError"),
        ("1 => raises ValueError", "raises ValueError('negative')"), ("[1] => [1, 3],", "[1, 3]"),
        ("1 => raises ValueError", "raise ValueError"), ("[1] => [1, 3]", "[1, 3],"),
        ("1 => raises json.JSONDecodeError", "raises JSONDecodeError"), ("1 => true", "True"),
        ("1 => ValueError", "raises ValueError"), ("1 => 'x = 1;'", "x = 1;"),
        ("1 => ' a'", " a"), ("1 => 'a'", "`a`"),
        ("1 => 1/2", "`0.5`"),
    ]:  # fmt: skip
        (read,) = claims_in(claim, 1)
        assert DemandedValue(reason="", value=said).confirms(read)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("1 => '5'", "5"), ("1 => 'True'", "True"), ("1 => ''", ""), ("1 => 'open'", "open"),
        ("1 => ' a'", "a"),
        ("1 => 'cba'", "abc"), ("1 => 'raises ValueError'", "raises ValueError"),
        ("1 => raises ValueError", "KeyError"), ("1 => cba", "'cba'"),
        ("1 => 'a, b'", "['a', 'b']"),
        ("1 => [1]", "the list of one"), ("1 => raises ValueError", "raises Exception"),
    ],
)  # fmt: skip
def test_the_second_reader_confirms_no_other_value(claim: str, said: str) -> None:
    (read,) = claims_in(claim, 1)
    assert not DemandedValue(reason="", value=said).confirms(read)


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_is_said_is_compared_without_an_error(one: str, other: str) -> None:
    states_value(one, other)
    assert normalised(normalised(one)) == normalised(one) or "`" in one
