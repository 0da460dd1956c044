"""Laws of the one parser of untrusted Python, and of ``assertions.py`` and ``imports.py``.

``mutation_operators.py`` is held by ``test_mutation.py``.
"""

import ast
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.failures import assertions_in, assertions_of, is_weak
from infra.languages.python.scaffolding import DottedNames
from infra.languages.python.syntax import parse, parse_or_none

UNREADABLE = ["def f(:", "print 1", "\0", "x = " + "(" * 400, "\ud800", "+".join("1" * 30_000)]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_no_python_is_a_syntax_error_and_nothing_else(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse(text)
    assert parse_or_none(text) is None


@given(st.text())
def test_any_text_is_parsed_or_not(text: str) -> None:
    tree = parse_or_none(text)
    assert tree is None or isinstance(tree, ast.Module)


@pytest.mark.parametrize("text", [r"x = '\d'", "1 is 1", "assert (1, 2)", "1or 1"])
def test_untrusted_text_gives_no_warning(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(text)


@pytest.mark.parametrize("terms", [330, 1_000, 3_000])
@pytest.mark.parametrize("join", [" + ", " * ", " - "])
def test_assertions_nested_too_deeply_are_a_syntax_error(terms: int, join: str) -> None:
    program = f"assert {join.join(['a'] * terms)}"
    try:
        assert assertions_of(program).total() == 1
    except SyntaxError:
        assert terms > 330 or join


def test_assertions_are_counted_by_their_text() -> None:
    program = "assert a == 1\nassert a==1\nself.assertEqual(a, 2)\nassertNot(a)\n"
    expected = {"a == 1": 2, "self.assertEqual(a, 2)": 1, "assertNot(a)": 1}
    assert assertions_of(program) == expected


@pytest.mark.parametrize(
    ("assertion", "weak"),
    [
        ("assert True", True),
        ("assert x == x", True),
        ("assert x is not None", True),
        ("assert isinstance(x, int)", True),
        ("assert type(x) == int", True),
        ("assert len(x) >= 0", True),
        ("self.assertTrue(1)", True),
        ("self.assertIsNotNone(x)", True),
        ("self.assertEqual(x, x)", True),
        ("assert x == 1", False),
        ("assert x", False),
        ("self.assertEqual(x, 1)", False),
        ("assert isinstance(x, int) and x == 3", False),
        ("assert isinstance(x, int) or x == 3", True),
    ],
)
def test_a_weak_assertion_fails_hardly_any_wrong_result(assertion: str, weak: bool) -> None:
    (found,) = assertions_in(parse(assertion))
    assert is_weak(found) is weak


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("from datetime import datetime as d\nd.now()", "datetime.datetime.now"),
        ("import a.b\na.b.c()", "a.b.c"),
        ("import a.b as c\nc.d()", "a.b.d"),
        ("from . import x\nx()", ".x"),
        ("f()", "f"),
        ("f().g()", ""),
    ],
)
def test_a_dotted_name_is_resolved_by_the_imports(program: str, name: str) -> None:
    tree = parse(program)
    call = tree.body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert DottedNames(tree).of(call.value.func) == name
