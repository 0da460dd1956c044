"""JavaScript gets a module that a box can call, and mutants with one mistake each.

Covers `infra.languages.javascript` and `infra.languages._mutation`.
"""

import pytest

from infra.languages.javascript import JavaScript

LANGUAGE = JavaScript()


@pytest.mark.parametrize(
    ("code", "ending", "names"),
    [
        ("function f(a) { return a; }", "return { f };\n", {"f"}),
        ("export const g = async (a) => a;", "return { g };\n", {"g"}),
        ("exports.h = function (a) { return a; };", "return {  };\n", {"h"}),
        ("m(a) { return a; }", "return { m: (...all) => _made.m(...all) };\n", {"m"}),
        ("Foo.prototype.bar = function () { return 1; };", "return {  };\n", set()),
        ("function (", "function (", set()),
    ],
)
def test_a_module_returns_what_it_defines(code: str, ending: str, names: set[str]) -> None:
    module = LANGUAGE.with_beside(code, "", scaffolding=False)
    assert module.endswith(ending)
    assert LANGUAGE.called_names(code) == names


@pytest.mark.parametrize(
    "code",
    ["function f(a, b) {\n  return a < b && a + 1;\n}", "f(a, b) { return a < b && a + 1; }"],
)
def test_a_mutant_has_one_mistake(code: str) -> None:
    mutants = LANGUAGE.mutants_of(code, 20)
    changes = {mutant.change for mutant in mutants}
    assert {"< → <=", "&& → ||", "+ → -", "1 → (1 + 1)"} < changes
    assert len({mutant.code for mutant in mutants}) == len(mutants)
    assert all(LANGUAGE.is_valid(mutant.code) for mutant in mutants)
    assert {mutant.line for mutant in mutants} == {1 + code.count("\n") // 2}
    assert len(LANGUAGE.mutants_of(code, 2)) == 2


def test_what_is_thrown_or_printed_stays() -> None:
    code = "function f() { console.log('a' + 1); throw new Error('b' + 2); }"
    assert [one.change for one in LANGUAGE.mutants_of(code, 20)] == ["console.log('a' + 1); → ;"]


def test_code_that_cannot_be_read_has_no_mutants() -> None:
    assert LANGUAGE.mutants_of("function (", 5) == ()
