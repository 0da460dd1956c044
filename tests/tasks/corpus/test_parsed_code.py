"""Laws of functions that come as texts."""

import pytest

from tasks.corpus.parsed_code import parse_function

DEEP = "def f(x):\n    return " + "(" * 300 + "x" + ")" * 300


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def f(x):\n    print x", "function does not parse: Python 2 statement"),
        ("def f(x):\n    exec x", "function does not parse: Python 2 statement"),
        (
            "def f(x):\n    try:\n        x()\n    except A, e:\n        pass",
            "function does not parse: Python 2 statement",
        ),
        ("def f(x):\n\tif x:\n        return 1", "function does not parse: tabs and spaces mixed"),
        ("def f(x):\n  y = 1\n   z = 2", "function does not parse: wrong indentation"),
        ("def f(x):\n    return '\0'", "function does not parse: null byte"),
        (DEEP, "function does not parse: nested too deeply"),
        ("def f():\n  return " + "-" * 100_000 + "1", "function does not parse: nested too deeply"),
        ("def f(:", "function does not parse: invalid syntax"),
        ("@decorator\n@another", "function does not parse: invalid syntax"),
        ("class C:\n    x = 1", "text without a function"),
        ("x = 1", "text without a function"),
        ("# only a comment", "text without a function"),
    ],
)
def test_a_text_without_a_readable_function_has_a_problem_of_few_words(
    text: str, problem: str
) -> None:
    function = parse_function(text, "codes.jsonl:3", "given")
    assert (function.syntax, function.parse_error) == (None, problem)
    assert (function.code.name, function.code.origin) == ("given", "codes.jsonl:3")
    assert function.text_without_documentation == function.code.text


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("def f(a, *, b):\n    return a", "f", ("a", "b")),
        ("def f(a):\n    return a\n\ndef g(b):\n    return b", "f", ("a",)),
        ("class C:\n    def m(self, a):\n        return a", "C.m", ("a",)),
        ("@decorator\ndef f(a): pass", "f", ("a",)),
        ("import os\n\nasync def f(): pass", "f", ()),
    ],
)
def test_a_text_is_described_by_its_first_function(
    text: str, name: str, parameters: tuple[str, ...]
) -> None:
    function = parse_function(text, "here")
    assert function.parse_error == ""
    assert (function.code.name, function.code.parameters) == (name, parameters)
    assert function.code.text == text
