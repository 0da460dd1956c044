"""Laws of Python's layout: what is cut out or copied is read, and means what was written."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.functions import functions_of
from infra.languages.python.syntax import plain_layout
from infra.records import Code

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
