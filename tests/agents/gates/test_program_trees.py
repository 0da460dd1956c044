"""Laws of programs in JavaScript and Go: what their expected values are made of.

Covers `agents.gates.program_trees`; `test_three_languages.py` runs such programs.
"""

import pytest

from agents.gates.dialects import GO, JAVASCRIPT

CODES = {
    "javascript": "function f(items) { return items; }",
    "go": "func F(items []int) []int { return items }\ntype S struct{ n int }\n"
    "func (s *S) Push(n int) {}\nfunc (s *S) Pop() int { return 0 }",
}
DIALECTS = {"javascript": JAVASCRIPT, "go": GO}
HEADS = {
    "javascript": "const assert = require('assert');\nconst { f } = require('target');\n"
    "function test_it() {\n  const items = [2, 1];\n",
    "go": "func TestIt(t *testing.T) {\n\titems := []int{2, 1}\n",
}
EXPECTS = {
    "javascript": (
        "assert.deepStrictEqual(f(items), [...items].sort());",
        "const got = f(items);\nconst want = items.filter((n) => n > 1);\nassert.deepEqual(got, want);",
        "const got = f(items);\nassert(got.every((n, i) => n === items[i]));",
        "const got = f(items);\nconst isSame = String(got) === String(items);\nassert(isSame);",
        "const got = f(items);\nlet want = 0;\nfor (const n of items) { if (n > 1) want++; }\n"
        "assert.strictEqual(got, want);",
        "const check = (got, want) => assert.deepStrictEqual(got, want);\ncheck(f(items), [...items]);",
        "if (f(items)[0] !== items[0]) throw new Error('no');",
        "assert.strictEqual(f(items).length, items.length);",
    ),
    "go": (
        "want := append([]int{}, items...)\nsort.Ints(want)\n"
        "if got := F(items); !reflect.DeepEqual(got, want) { t.Fatal() }",
        "got := F(items)\nfor i := range got { if got[i] != items[i] { t.Errorf(`no`) } }",
        "got, want := F(items), 0\nfor _, n := range items { if n > 1 { want++ } }\n"
        "if len(got) != want { t.Fatal() }",
        "same := reflect.DeepEqual(F(items), items)\nif !same { t.Fatal() }",
        "check := func(got, want []int) { if !reflect.DeepEqual(got, want) { t.Fatal() } }\n"
        "check(F(items), items)",
        "switch got := F(items); { case got[0] != items[0]: t.Error() }",
    ),
}
ASKS = {
    "javascript": (
        "f(items);\nassert.deepStrictEqual(items, [1, 2]);",
        "const got = f(items);\nassert.strictEqual(got, items);\nassert.deepStrictEqual(got, [1, 2]);",
        "const got = f(items);\nassert.deepStrictEqual(got, items);\nassert.equal(items[0], 1);",
        "const run = (x) => { f(x); return x; };\nassert.deepStrictEqual(run([2, 1]), [1, 2]);",
        "assert.deepStrictEqual(f(items), [1, 2]);",
        "f(items);\nfor (const [place, n] of items.entries()) assert.strictEqual(n, place + 1);",
    ),
    "go": (
        "F(items)\nif !reflect.DeepEqual(items, []int{1, 2}) { t.Fatal() }",
        "got := F(items)\nif len(got) != len(items) || items[0] != 1 { t.Fatal() }",
        "if got := F(items); got[0] != 1 { t.Fatal() }",
        "s := &S{}\nfor _, v := range items { s.Push(v); if got := s.Pop(); got != v { t.Fatal() } }",
        "sorted := func(x []int) []int { F(x); return x }\nif sorted(items)[0] != 1 { t.Fatal() }",
    ),
}


@pytest.mark.parametrize("language", DIALECTS)
def test_a_program_expects_what_its_arguments_say_or_asks_for_them(language: str) -> None:
    def expects(body: str) -> bool:
        program = f"{HEADS[language]}{body}\n}}\n"
        return DIALECTS[language].expects_by_arguments(program, CODES[language])

    assert [body for body in EXPECTS[language] if not expects(body)] == []
    assert [body for body in ASKS[language] if expects(body)] == []


EMPTY = {
    "javascript": (
        "assert.deepStrictEqual(f(items), []);",
        "const got = f(items);\nassert.deepStrictEqual(got, items.filter((n) => n > 9));",
        "assert.strictEqual(f(items).length, 0);",
        "assert.strictEqual(f(items)[0], undefined);",
        "assert(!f(items).length);",
        "const check = (got, want) => assert.deepEqual(got, want);\ncheck(f(items), want);",
        "assert.deepStrictEqual([...f(items)], want);",
        "assert.strictEqual(String(f(items)), want);",
        "if (f(items).size) throw new Error('no');",
    ),
    "go": (
        "if got := F(items); len(got) != 0 { t.Fatal() }",
        "if got := F(items); got != nil { t.Fatal() }",
        "if got := F(items); !reflect.DeepEqual(got, want) { t.Fatal() }",
        "check := func(got, want []int) { if !reflect.DeepEqual(got, want) { t.Fatal() } }\n"
        "check(F(items), want)",
        "got, _ := F(items)\nif fmt.Sprint(got) != want { t.Fatal() }",
    ),
}
LAX = {
    "javascript": (
        "const found = f(items);\nassert(found.every((n) => n % 2 === 0));",
        "for (const [i, n] of f(items).entries()) assert.strictEqual(n, want[i]);",
        "f(items).forEach((n) => assert.strictEqual(n % 2, 0, ''));",
        "assert(Array.isArray(f(items)) || f(items).some((n) => n > 1));",
        "assert(!f(items).includes(3));",
    ),
    "go": (
        "got := F(items)\nfor place, n := range got { if n != want[place] { t.Fatal() } }",
        "got := F(items)\nif got == nil { t.Fatal() }\n"
        "for _, n := range got { if n%2 != 0 { t.Fatal() } }",
    ),
}


@pytest.mark.parametrize("language", DIALECTS)
def test_a_program_demands_emptiness_or_is_content_with_nothing(language: str) -> None:
    def demands(body: str) -> bool:
        program = f"{HEADS[language]}{body}\n}}\n"
        return DIALECTS[language].demands_emptiness(program, CODES[language])

    assert [body for body in EMPTY[language] if not demands(body)] == []
    assert [body for body in LAX[language] if demands(body)] == []
