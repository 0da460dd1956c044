"""Laws of the one parser of untrusted Python, of layouts that it is given, and of ``failures.py``.

What is cut out or copied is read, and means what was written.
"""

import ast
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.failures import assertions_in, assertions_of, is_weak
from infra.languages.python.functions import functions_of
from infra.languages.python.scaffolding import DottedNames
from infra.languages.python.syntax import parse, parse_or_none, plain_layout
from infra.records import Code

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


PLAIN = """@cache
def mean(xs):
    # the mean
    text = '''
    of
\t\f xs\u00a0'''

    if xs:
        return sum(xs) / len(xs)
    return f"{text}\u00a0"
"""
FIXED = (4, 5)  # lines that lie in a text


def changed(line_start: str = "", blank: str = " ") -> str:
    """Return the function with a beginning of each line, and other blanks, outside of its text."""
    lines = PLAIN.split("\n")
    return "\n".join(
        line if number in FIXED or not line else line_start + _blanked(line, blank)
        for number, line in enumerate(lines)
    )


def _blanked(line: str, blank: str) -> str:
    return line if "#" in line or 'f"' in line else line.replace(" ", blank)


ODD = {
    "margin": changed("    "),
    "margin of a tab": changed("\t"),
    "comment before the margin": "# of mine\n\n" + changed("  "),
    "byte order mark": f"\ufeff{PLAIN}",
    "Windows": PLAIN.replace("\n", "\r\n"),
    "old Macintosh": PLAIN.replace("\n", "\r"),
    "form feeds": changed("\f"),
    "form feeds and a margin": changed("  \f   "),
    "blanks that do not break": changed(blank="\u00a0"),
    "all of it": "\ufeff" + changed("\f  ", "\u00a0").replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_function_of_an_odd_layout_is_the_function(name: str) -> None:
    text = plain_layout(ODD[name])
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(PLAIN))
    assert Code.of(ODD[name]).text.removeprefix("# of mine\n\n") == PLAIN.strip()
    (function,) = functions_of(ODD[name])
    assert (function.name, function.text) == ("mean", PLAIN.strip())


@pytest.mark.parametrize(
    "text",
    [
        "    def f():\n        pass\ndef g():\n    pass",  # a part is left of the beginning
        "@d\n    def f():\n        pass",
        "    print 1\u00a0",
        "\tint f() {\n\t\treturn 1;\n\t}",
        "x = '''\u00a0\n \f y'''  # \u00a0",
        "    x = (\n",
        "\f\n    \f",
    ],
)
def test_what_has_no_such_reading_stays_as_it_is(text: str) -> None:
    assert plain_layout(text) == text


def test_form_feeds_before_methods_do_not_move_them() -> None:
    text = (
        "class A:\n\f    @property\n    def f(self):\n        return 1\n\n"
        "\f    def g(self):\n        if 1:\n            return 2\n"
    )
    assert [function.text for function in functions_of(text)] == [
        "@property\ndef f(self):\n    return 1",
        "def g(self):\n    if 1:\n        return 2",
    ]


@given(st.text(alphabet=" \t\f\n\r\u00a0\ufeff#'\"x=():\\"))
def test_a_plain_layout_is_plain_and_has_as_many_lines(text: str) -> None:
    plain = plain_layout(text)
    assert plain_layout(plain) == plain
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    assert plain.count("\n") == lines
