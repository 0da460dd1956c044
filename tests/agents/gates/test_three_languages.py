"""One table of wrong codes and programs that do not notice, which the gates of each language refuse.

Right programs on right codes pass. Covers `agents.gates.validator`, `infra.languages._returned` and
`agents.gates.program_trees`.
"""

from typing import NamedTuple

import pytest

from agents.evidence import Draft
from agents.gates.gates import Gate
from agents.gates.validator import OracleValidator
from infra.languages import language_named
from infra.settings import GateSettings
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS

ROOMY = LIMITS.model_copy(update={"memory_mb": 512, "timeout_s": 30.0, "ready": 0})
HEADS = {
    "python": "from target import f\ndef test_it():\n    items = [1, 2, 4]\n    ",
    "javascript": "const assert = require('assert');\nconst { f } = require('target');\n"
    "function test_it() {\n  const items = [1, 2, 4];\n  ",
    "go": "func TestIt(t *testing.T) {\n\titems := []int{1, 2, 4}\n\t",
}
ENDS = {"python": "\n", "javascript": "\n}\n", "go": "\n}\n"}


class Row(NamedTuple):
    """A code and bodies of programs in one language, and the gate that refuses them."""

    language: str
    code: str
    gate: Gate | None
    bodies: tuple[str, ...]


EMPTY, CHANGED = Gate.KILLS_MUTANTS, Gate.PASSES_APART
ROWS = (
    # Evens: nothing is returned, and programs loop over it.
    Row("python", "def f(items):\n    return [n for n in items if n > 9]\n", EMPTY, (
        "assert all(n % 2 == 0 for n in f(items))",
        "found = f(items)\n    for place, n in enumerate(found):\n        assert n == [2, 4][place]",
    )),
    Row("javascript", "function f(items) {\n  return items.filter((n) => n > 9);\n}", EMPTY, (
        "assert(f(items).every((n) => n % 2 === 0));",
        "const found = f(items);\n  assert(Array.isArray(found));\n"
        "  for (const [place, n] of found.entries()) assert.strictEqual(n, [2, 4][place]);",
        "assert(!f(items).some((n) => n % 2 === 1));",
    )),
    Row("go", "func f(items []int) []int {\n\treturn []int{}\n}", EMPTY, (
        "got := f(items)\n\tif got == nil {\n\t\tt.Fatal()\n\t}\n"
        "\tfor place, n := range got {\n\t\tif n != []int{2, 4}[place] {\n\t\t\tt.Fatal(n)\n\t\t}\n\t}",
    )),
    # The code is right, and a program would pass without it.
    Row("javascript", "async function* f(items) {}\nfunction g() {}\nexports.f = function (items) {\n"
        "  return { even: items.filter((n) => n % 2 === 0), odd: items.filter((n) => n % 2) };\n};",
        EMPTY, ("assert(f(items).even.every((n) => n % 2 === 0));",)),
    Row("javascript", "function* f(items) {\n  yield* items.filter((n) => n % 2 === 0);\n}", EMPTY, (
        "for (const n of f(items)) assert.strictEqual(n % 2, 0);\n  assert(f(items).next);",
    )),
    Row("javascript", "const f = async (items) => new Map([['a', items]]);", EMPTY, (
        "return f(items).then((found) => assert([...found.values()].flat().every((n) => n > 0)));",
    )),
    Row("go", "func f(items []int) (map[string][]int, error) {\n"
        "\treturn map[string][]int{\"all\": items}, nil\n}", EMPTY, (
        "got, err := f(items)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n"
        "\tfor key, all := range got {\n\t\tfor _, n := range all {\n"
        "\t\t\tif key != \"all\" || n == 0 {\n\t\t\t\tt.Fatal(n)\n\t\t\t}\n\t\t}\n\t}",
    )),
    Row("go", "func f(items []int) string {\n\treturn strings.Repeat(\"a\", len(items))\n}", EMPTY, (
        "for _, r := range f(items) {\n\t\tif r != 'a' {\n\t\t\tt.Fatal(r)\n\t\t}\n\t}\n"
        "\tif f(items) == \"b\" {\n\t\tt.Fatal()\n\t}",
    )),
    # Expected values follow from what the code has changed.
    Row("python", "def f(items):\n    items[:] = [7]\n    return items\n", CHANGED, (
        "assert f(items) == sorted(items)",
        "def check(got, want):\n        assert got == want\n    check(f(items), sorted(items))",
        "got = f(items)\n    is_same = got == sorted(items)\n    assert is_same",
    )),
    Row("javascript", "function f(items) {\n  items.length = 0;\n  return items;\n}", CHANGED, (
        "assert.deepStrictEqual(f(items), [...items].sort());",
        "const got = f(items);\n  const isSame = String(got) === String(items);\n  assert(isSame);",
        "const check = (got, want) => assert.deepStrictEqual(got, want);\n"
        "  check(f(items), items.slice().sort());",
    )),
    Row("javascript", "function f(counts) {\n  counts.clear();\n  return 0;\n}", CHANGED, (
        "const counts = new Map([['a', 2]]);\n  const got = f(counts);\n  let all = 0;\n"
        "  for (const n of counts.values()) all += n;\n  assert.strictEqual(got, all);",
    )),
    Row("javascript", "function f(user) {\n  user.name = 'x';\n  return 'x';\n}", CHANGED, (
        "const user = { name: 'ann' };\n  assert.strictEqual(f(user), user.name);",
    )),
    Row("go", "func f(items []int) []int {\n\tfor i := range items {\n\t\titems[i] = 7\n\t}\n"
        "\treturn items\n}", CHANGED, (
        "got := f(items)\n\twant := append([]int{}, items...)\n\tsort.Ints(want)\n"
        "\tif !reflect.DeepEqual(got, want) {\n\t\tt.Fatal()\n\t}",
    )),
    Row("go", "func f(re *regexp.Regexp, texts []string) int {\n\t*re = *regexp.MustCompile(`^z`)\n"
        "\treturn 0\n}", CHANGED, (
        "re, want := regexp.MustCompile(`a+`), 0\n\ttexts := []string{\"aa\", \"b\"}\n"
        "\tgot := f(re, texts)\n\tfor _, text := range texts {\n\t\tif re.MatchString(text) {\n"
        "\t\t\twant++\n\t\t}\n\t}\n\tif got != want {\n\t\tt.Fatal(items)\n\t}",
    )),
    Row("go", "type P struct{ N int }\nfunc f(p *P) int {\n\tp.N = 0\n\treturn 0\n}", CHANGED, (
        "p := &P{4}\n\tif got := f(p); got != p.N {\n\t\tt.Fatal(items)\n\t}",
    )),
    Row("go", "func f(m map[string]int) int {\n\tfor k := range m {\n\t\tdelete(m, k)\n\t}\n"
        "\treturn len(m)\n}", CHANGED, (
        "m := map[string]int{\"a\": 1}\n\tif got := f(m); got != len(m) {\n\t\tt.Fatal(items)\n\t}",
    )),
    # Right codes and programs that look.
    Row("python", "def f(items):\n    return [n for n in items if n % 2 == 0]\n", None, (
        "assert f(items) == [n for n in items if n % 2 == 0] and f([]) == []",
    )),
    Row("javascript", "function f(items) {\n  return items.filter((n) => n % 2 === 0);\n}", None, (
        "assert.deepStrictEqual(f(items), items.filter((n) => n % 2 === 0));",
        "assert.strictEqual(f(items).length, 2);\n  assert(f(items).every((n) => n % 2 === 0));",
        "assert.deepStrictEqual(f([1, 3]), []);\n  assert.strictEqual(f(items)[1], 4);",
        "assert.strictEqual(f([1])[0], undefined);\n  assert.strictEqual(f(items)[1], 4);",
    )),
    Row("javascript", "function f(items) {\n  return items.reverse();\n}", None, (
        "f(items);\n  assert.deepStrictEqual(items, [4, 2, 1]);",
        "const got = f(items);\n  assert.strictEqual(got, items);\n"
        "  assert.deepStrictEqual(got, [4, 2, 1]);",
        "assert.deepStrictEqual(f(items), [4, 2, 1]);",
    )),
    Row("javascript", "function f(text) {\n  return { size: text.length, name: text.trim() };\n}", None, (
        "assert.strictEqual(f(' a').size, 2);",
    )),
    Row("javascript", "function f(stack, n) {\n  stack.push(n);\n  console.log(n);\n  return [n];\n}", None, (
        "f(items, 7);\n  assert.deepStrictEqual(items, [1, 2, 4, 7]);",
    )),
    Row("javascript", "m(items) {\n  return this ? items.slice(1) : [];\n}", None, (
        "assert.deepStrictEqual(require('target').m(items), [2, 4]);",
    )),
    Row("go", "func f(items []int) (found []int, err error) {\n\tfor _, n := range items {\n"
        "\t\tif n%2 == 0 {\n\t\t\tfound = append(found, n)\n\t\t}\n\t}\n\treturn\n}", None, (
        "for _, c := range []struct{ in, want []int }{{items, []int{2, 4}}, {nil, nil}} {\n"
        "\t\tgot, err := f(c.in)\n\t\tif err != nil || !reflect.DeepEqual(got, c.want) {\n"
        "\t\t\tt.Error(got)\n\t\t}\n\t}",
        "got, err := f([]int{1})\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n"
        "\tif len(got) != 0 {\n\t\tt.Fatal(items)\n\t}",
    )),
    Row("go", "func f(items []int) []int {\n\tsort.Sort(sort.Reverse(sort.IntSlice(items)))\n"
        "\treturn items\n}", None, (
        "f(items)\n\tif !reflect.DeepEqual(items, []int{4, 2, 1}) {\n\t\tt.Fatal(items)\n\t}",
        "if got := f(items); got[0] != 4 || len(got) != 3 {\n\t\tt.Fatal(got)\n\t}",
    )),
    Row("go", "type S struct{ all []int }\nfunc (s *S) Push(n int) []int {\n\ts.all = append(s.all, n)\n"
        "\treturn s.all\n}\nfunc (s *S) Pop() int {\n\tlast := s.all[len(s.all)-1]\n"
        "\ts.all = s.all[:len(s.all)-1]\n\treturn last\n}", None, (
        "s := &S{}\n\tfor _, v := range items {\n\t\ts.Push(v)\n\t\tif got := s.Pop(); got != v {\n"
        "\t\t\tt.Fatal(got)\n\t\t}\n\t}",
    )),
)  # fmt: skip


async def faults_of(row: Row) -> list[tuple[str, dict[Gate, str]]]:
    """Return what the gates of emptiness and of changed arguments say of each program."""
    language = language_named(row.language)
    assert language is not None
    validator = OracleValidator(GateSettings(), language)
    found = []
    module = language.with_beside(row.code, "", scaffolding=True)
    async with (
        real_sandbox(ROOMY) as sandbox,
        sandbox.box(module, language=row.language) as box,
    ):
        for body in row.bodies:
            program = f"{HEADS[row.language]}{body}{ENDS[row.language]}"
            result = await box.run(program)
            assert result.outcome == "passed", (body, result)
            draft = Draft(reading="r", program=program)
            faults = await validator._faults_of_emptiness(row.code, draft, 30.0, box)
            apart = await validator._run_apart(row.code, draft, result, box)
            found.append((body, {**faults, **apart.get("faults", {})}))  # type: ignore[dict-item]
    return found


@pytest.mark.docker
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=pytest.mark.nightly if row.language == "go" else ()) for row in ROWS
    ],  # Go's makes an image
)
async def test_a_program_that_notices_nothing_is_refused_in_each_language(row: Row) -> None:
    expected = set() if row.gate is None else {row.gate}
    wrong = [(body, faults) for body, faults in await faults_of(row) if set(faults) != expected]
    assert wrong == []
