"""Languages that boxes run beside Python have mutants with one mistake each.

Go's results keep their types; JavaScript gets a module that a box can call. Covers
`infra.languages.go`, `infra.languages.javascript` and `infra.syntax.mutation`.
"""

import pytest

from infra.languages.go import Go
from infra.languages.javascript import JavaScript
from infra.syntax.syntax_tree import SyntaxTreeLanguage

GO, JAVASCRIPT = Go(), JavaScript()
GO_CODE = """func halve(n int) (half, rest int, err error) {
	if n < 0 && n != -1 {
		return 0, 0, errors.New("below" + "zero")
	}
	log.Print("half" + "way")
	half += n / 2
	return half, n % 2, nil
}

func (s *Stack) Pop() *Stack {
	keep := func() bool { return s.n > 0 }
	for keep() {
		break
	}
	return nil
}"""
JAVASCRIPT_CODES = [
    "function f(a, b) {\n  return a < b && a + 1;\n}",
    "f(a, b) { return a < b && a + 1; }",
]


@pytest.mark.parametrize(
    ("language", "code"),
    [(GO, GO_CODE), *((JAVASCRIPT, code) for code in JAVASCRIPT_CODES)],
)
def test_mutants_can_be_read_and_differ(language: SyntaxTreeLanguage, code: str) -> None:
    mutants = language.mutants_of(code, 50)
    assert len({mutant.code for mutant in mutants}) == len(mutants) > 1
    assert all(language.is_valid(mutant.code) for mutant in mutants)


@pytest.mark.parametrize(("language", "code"), [(GO, "(" * 100), (JAVASCRIPT, "function (")])
def test_code_that_cannot_be_read_has_no_mutants(language: SyntaxTreeLanguage, code: str) -> None:
    assert language.mutants_of(code, 5) == ()


def test_results_of_mutants_keep_their_types() -> None:
    changes = {mutant.change for mutant in GO.mutants_of(GO_CODE, 50)}
    assert {
        "< → <=", "&& → ||", "/ → *", "+= → -=", "break → continue", "2 → (2 + 1)",
        "return half, n % 2, nil → return *new(int), *new(int), *new(error)",
        "return s.n > 0 → return *new(bool)",
    } < changes  # fmt: skip


def test_texts_of_errors_and_logs_and_values_that_are_nothing_stay() -> None:
    changes = [mutant.change for mutant in GO.mutants_of(GO_CODE, 50)]
    assert not any('"' in change.partition(" → ")[2] for change in changes)
    assert not any(change.startswith("return nil") for change in changes)


def test_functions_and_methods_are_called_by_their_names() -> None:
    assert GO.called_names(GO_CODE) == {"halve", "Pop"}
    assert GO.called_names("func (") == frozenset()


def test_the_process_of_go_ends_before_the_innermost_statement_of_a_line() -> None:
    for line, text in [(2, "if n < 0"), (3, "return 0, 0"), (7, "return half"), (14, "break")]:
        stopping = GO.stopping_at(GO_CODE, line)
        assert stopping == GO_CODE.replace(text, f"os.Exit(1);{text}"), line


def test_results_get_names_by_which_they_are_changed() -> None:
    code = "func f(n int) ([]int, error) { return nil, nil }\n"
    code += "func g() (_ string, n int) {\n\treturn\n}\nfunc h() int { return 1 }"
    made = GO.returning(code, "empty", tells=True)
    lines = made.splitlines()
    given = 'cosqa_returned("empty", true, '
    assert lines[0] == (
        f"func f(n int) (cosqa_0 []int, cosqa_1 error) {{ defer {given}&cosqa_0, &cosqa_1)();"
        " return nil, nil }"
    )
    assert lines[1:3] == [
        f"func g() (cosqa_0 string, n int) {{ defer {given}&cosqa_0, &n)();", "\treturn",
    ]  # fmt: skip
    assert lines[4] == "func h() int { return 1 }"
    assert GO.is_valid(made)
    assert GO.returning("func h() int { return 1 }", "empty", tells=False) == ""


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
    module = JAVASCRIPT.with_support_code(code, "", scaffolding=False)
    assert module.endswith(ending)
    assert JAVASCRIPT.called_names(code) == names


@pytest.mark.parametrize("code", JAVASCRIPT_CODES)
def test_a_mutant_is_named_by_its_mistake_and_line(code: str) -> None:
    mutants = JAVASCRIPT.mutants_of(code, 20)
    changes = {mutant.change for mutant in mutants}
    assert {"< → <=", "&& → ||", "+ → -", "1 → (1 + 1)"} < changes
    assert {mutant.line for mutant in mutants} == {1 + code.count("\n") // 2}
    assert len(JAVASCRIPT.mutants_of(code, 2)) == 2


def test_what_is_thrown_or_printed_stays() -> None:
    code = "function f() { console.log('a' + 1); throw new Error('b' + 2); }"
    assert [one.change for one in JAVASCRIPT.mutants_of(code, 20)] == ["console.log('a' + 1); → ;"]


@pytest.mark.parametrize("before", ["function ", ""])
def test_the_process_ends_before_the_innermost_statement_of_a_line(before: str) -> None:
    code = f"{before}f(a) {{\n  if (a) {{\n    return 'é';\n  }}\n  return 2;\n}}"
    stop = "process.reallyExit(1);"
    for line, text in [(2, "if"), (3, "return 'é'"), (5, "return 2")]:
        stopping = JAVASCRIPT.stopping_at(code, line)
        assert stopping == code.replace(text, f"{stop}{text}"), line
        assert JAVASCRIPT.is_valid(stopping)
    assert JAVASCRIPT.stopping_at("const f = (a) => a;", 1) == ""


def test_what_tells_of_errors_stays_and_values_do_not() -> None:
    code = (
        "function f(a) { this.onError('a', a + 1); errors.push(a - 1); return mean_error(a * 2); }"
    )
    changes = {one.change for one in JAVASCRIPT.mutants_of(code, 20)}
    assert {"- → +", "* → /"} < changes
    assert "+ → -" not in changes


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
    assert JAVASCRIPT.undefined_names(code) == names


def test_stubs_come_before_a_function_and_before_the_class_that_is_made_for_a_method() -> None:
    for code in ("function f(a) { return clean(a); }", "f(a) { return clean(a); }"):
        module = JAVASCRIPT.with_support_code(code, "const clean = Number;", scaffolding=True)
        assert module.startswith("const clean = Number;\n")
        assert JAVASCRIPT.undefined_names(module) == set()
    strict = JAVASCRIPT.with_support_code("'use strict';\nf(a);", "let x = 1;", scaffolding=False)
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
    module = JAVASCRIPT.with_support_code(code, "", scaffolding=True)
    assert (required in module, "globalThis" in module) == (True, bool(required))
    assert "globalThis" not in JAVASCRIPT.with_support_code(code, "", scaffolding=False)
