"""Conformance of every language: what the rest relies on; and who reads Python (`_programs`)."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import infra.languages
from infra.languages import Language, languages

BROKEN = ("def f(:", "\0", "{" * 5_000, "\ud800", "", "   \n\t")

OUTSIDE = re.compile(r"(?m)^\s*(?:import ast\b|from ast |from infra\.languages\.python\.)")

every_language = pytest.mark.parametrize("name", languages.names())


def asked(call: Callable[[], object]) -> object:
    """Return what a call gives, or that the text cannot be parsed; nothing else may be raised."""
    try:
        return call()
    except SyntaxError:
        return None


def test_what_reads_python_itself_is_named_in_the_page() -> None:
    root = Path(infra.languages.__file__).parents[2]
    found = {
        file.relative_to(root).as_posix()
        for folder in ("flows", "tasks", "agents", "infra", "sandbox")
        for file in (root / folder).rglob("*.py")
        if OUTSIDE.search(file.read_text("utf-8"))
    }
    inside = {
        name
        for name in found
        if name.startswith(("infra/languages/", "infra/syntax/", "sandbox/inside/"))
    }
    page = (root / "infra" / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in page for name in found - inside)
    assert len(found - inside) <= 3


@every_language
def test_a_language_has_its_registered_name(name: str) -> None:
    language = languages.get(name)()
    assert isinstance(language, Language)
    assert language.name == name


@pytest.mark.parametrize(
    ("name", "code", "signature"),
    [
        ("javascript", "const add = (a, b) => a + b;", "const add = (a, b) =>"),
        ("javascript", "const id = x => x;", "const id = x =>"),
        ("javascript", "function f(a) { return a; }", "function f(a)"),
        ("javascript", "exports.h = function (a) { return 1; };", "exports.h = function (a)"),
        ("javascript", "m(a, { b, c }) { return a; }", "m(a, { b, c })"),
        ("javascript", "function g(\n  a,\n  b\n) { return a; }", "function g(\n  a,\n  b\n)"),
        ("javascript", "const f = (a = () => 1) => a();", "const f = (a = () => 1) =>"),
        ("go", "func f(a int) int { return a }", "func f(a int) int"),
        ("java", "int f(int a) { return a; }", "int f(int a)"),
        ("php", "function f($a) { return $a; }", "function f($a)"),
        ("ruby", "def f(a) = a + 1", "def f(a) ="),
    ],
)
def test_a_signature_has_nothing_of_the_body(name: str, code: str, signature: str) -> None:
    assert languages.get(name)().signature_of(code) == signature


@every_language
@pytest.mark.parametrize("text", BROKEN)
def test_any_text_has_an_answer(name: str, text: str) -> None:
    language = languages.get(name)()
    asked(lambda: language.functions_of(text))
    assert isinstance(language.signature_of(text), str)
    assert isinstance(language.scaffolded(text), str)
    assert len(language.mutants_of(text, 3)) <= 3
    assert len(language.strong_mutants_of(text, 3)) <= 3


def test_a_language_that_is_only_searched_needs_no_more_than_functions_and_signatures() -> None:
    class Searched(Language):
        name = "searched"

        def functions_of(self, text: str) -> list[object]:  # type: ignore[override]
            return []

        def signature_of(self, code: str) -> str:
            return ""

    language = Searched()
    assert language.scaffolded("x") == "x"
    assert (language.mutants_of("x", 9), language.strong_mutants_of("x", 9)) == ((), ())


def test_a_python_function_has_what_collecting_and_filtering_ask() -> None:
    text = "class A:\n    def f(self, x):\n        'Doc.'\n        return x\n"
    (function,) = languages.get("python")().functions_of(text)
    assert (function.name, function.first_line, function.last_line) == ("A.f", 2, 4)
    assert (function.parameters, function.documentation) == (("x",), "Doc.")
    assert "Doc." not in function.text_without_documentation


@pytest.mark.parametrize(
    ("body", "returns"),
    [
        ("return x", True),
        ("return None", False),
        ("return", False),
        ("pass", False),
        ("if x:\n        return 1", True),
        ("def g():\n        return 1", False),
        ("return (lambda: 1)", True),
    ],
)
def test_a_function_returns_a_value_of_its_own(body: str, returns: bool) -> None:
    (function,) = languages.get("python")().functions_of(f"def f(x):\n    {body}\n")
    assert function.returns_value is returns
