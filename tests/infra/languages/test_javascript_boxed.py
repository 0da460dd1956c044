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
    module = LANGUAGE.with_support_code(code, "", scaffolding=False)
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


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("function f(a, { b, c: d, ...e }, [g = LIMIT]) { return a + b + d + e + g; }", {"LIMIT"}),
        ("const f = (text) => `${trim(text)} ${text.length}`;", {"trim"}),
        ("join(a) { return this.own + _.map(a, { key, other: value }); }", {"_", "key", "value"}),
        ("function f() { try { go(); } catch (error) { return error; } }", {"go"}),
        ("for (const key of Object.keys(table)) { count = key; count += 1; }", {"table"}),
        ("function f() { return typeof window === 'undefined' ? Buffer : window; }", set()),
        ("class A extends Base { m() { return new A(require('x'), __dirname); } }", {"Base"}),
        ("function f(", set()),
    ],
)
def test_code_lacks_the_names_that_it_reads_and_neither_binds_nor_asks_for(
    code: str, names: set[str]
) -> None:
    assert LANGUAGE.undefined_names(code) == names


def test_stubs_come_before_a_function_and_before_the_class_that_is_made_for_a_method() -> None:
    for code in ("function f(a) { return clean(a); }", "f(a) { return clean(a); }"):
        module = LANGUAGE.with_support_code(code, "const clean = Number;", scaffolding=True)
        assert module.startswith("const clean = Number;\n")
        assert LANGUAGE.undefined_names(module) == set()
    strict = LANGUAGE.with_support_code("'use strict';\nf(a);", "let x = 1;", scaffolding=False)
    assert strict.startswith('"use strict"; let x = 1;\n')


@pytest.mark.parametrize(
    ("code", "required"),
    [
        ("function f(a) { return fs.readFileSync(a) + fs.x; }", '[["fs", "readFileSync", "x"]]'),
        ("function f(a) { return path.join(a) && util; }", '[["path", "join"], ["util"]]'),
        ("function f(path) { return path.join(events); }", ""),
        ("const fs = require('fs');\nfunction f(a) { return fs.existsSync(a); }", ""),
    ],
)
def test_modules_of_node_are_there_by_their_own_names_where_they_have_what_is_taken(
    code: str, required: str
) -> None:
    module = LANGUAGE.with_support_code(code, "", scaffolding=True)
    assert (required in module, "globalThis" in module) == (True, bool(required))
    assert "globalThis" not in LANGUAGE.with_support_code(code, "", scaffolding=False)
