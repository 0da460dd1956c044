"""Go has mutants with one mistake each, whose results keep their types.

Covers `infra.languages.go` and `infra.syntax.mutation`.
"""

from infra.languages.go import Go

LANGUAGE = Go()
CODE = """func halve(n int) (half, rest int, err error) {
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


def test_a_mutant_has_one_mistake() -> None:
    mutants = LANGUAGE.mutants_of(CODE, 50)
    changes = {mutant.change for mutant in mutants}
    assert {
        "< → <=", "&& → ||", "/ → *", "+= → -=", "break → continue", "2 → (2 + 1)",
        "return half, n % 2, nil → return *new(int), *new(int), *new(error)",
        "return s.n > 0 → return *new(bool)",
    } < changes  # fmt: skip
    assert len({mutant.code for mutant in mutants}) == len(mutants)
    assert all(LANGUAGE.is_valid(mutant.code) for mutant in mutants)


def test_texts_of_errors_and_logs_and_values_that_are_nothing_stay() -> None:
    changes = [mutant.change for mutant in LANGUAGE.mutants_of(CODE, 50)]
    assert not any('"' in change.partition(" → ")[2] for change in changes)
    assert not any(change.startswith("return nil") for change in changes)


def test_functions_and_methods_are_called_by_their_names() -> None:
    assert LANGUAGE.called_names(CODE) == {"halve", "Pop"}
    assert LANGUAGE.called_names("func (") == frozenset()


def test_the_process_ends_before_the_innermost_statement_of_a_line() -> None:
    for line, text in [(2, "if n < 0"), (3, "return 0, 0"), (7, "return half"), (14, "break")]:
        stopping = LANGUAGE.stopping_at(CODE, line)
        assert stopping == CODE.replace(text, f"os.Exit(1);{text}"), line


def test_results_get_names_by_which_they_are_changed() -> None:
    code = "func f(n int) ([]int, error) { return nil, nil }\n"
    code += "func g() (_ string, n int) {\n\treturn\n}\nfunc h() int { return 1 }"
    made = LANGUAGE.returning(code, "empty", tells=True)
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
    assert LANGUAGE.is_valid(made)
    assert LANGUAGE.returning("func h() int { return 1 }", "empty", tells=False) == ""


def test_code_that_cannot_be_read_has_no_mutants() -> None:
    assert LANGUAGE.mutants_of("(" * 100, 5) == ()
