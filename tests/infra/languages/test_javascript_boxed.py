"""JavaScript gets a module that a box can call, and mutants with one mistake each.

Covers `infra.languages.javascript` and `infra.syntax.mutation`.
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
        ("module.exports = function two(a) {};", "return {  };\n", {"exports", "two"}),
        ("export default (a) => a;", "module.exports = (a) => a;\nreturn {  };\n", {"exports"}),
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


@pytest.mark.parametrize("before", ["function ", ""])
def test_the_process_ends_before_the_innermost_statement_of_a_line(before: str) -> None:
    code = f"{before}f(a) {{\n  if (a) {{\n    return 'é';\n  }}\n  return 2;\n}}"
    stop = "process.reallyExit(1);"
    for line, text in [(2, "if"), (3, "return 'é'"), (5, "return 2")]:
        stopping = LANGUAGE.stopping_at(code, line)
        assert stopping == code.replace(text, f"{stop}{text}"), line
        assert LANGUAGE.is_valid(stopping)
    assert LANGUAGE.stopping_at("const f = (a) => a;", 1) == ""


def test_what_tells_of_errors_stays_and_values_do_not() -> None:
    code = (
        "function f(a) { this.onError('a', a + 1); errors.push(a - 1); return mean_error(a * 2); }"
    )
    changes = {one.change for one in LANGUAGE.mutants_of(code, 20)}
    assert {"- → +", "* → /"} < changes
    assert "+ → -" not in changes


def test_code_that_cannot_be_read_has_no_mutants() -> None:
    assert LANGUAGE.mutants_of("function (", 5) == ()
