import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.mutation import mutants_of, strong_mutants_of

ALL = 1_000


def changes(body: str, kind: str) -> list[str]:
    """Return the mistakes of one kind in a function with that body."""
    code = f"def f(a, b=None):\n    {body}\n"
    return [mutant.change for mutant in mutants_of(code, ALL) if mutant.kind == kind]


def test_each_kind_of_mistake_is_made_where_it_can_be() -> None:
    for body, kind, expected in [
        ("return a + b", "operator", ["a + b → a - b"]),
        ("a -= b", "operator", ["a -= b → a += b"]),
        ("return -a", "operator", ["-a → a"]),
        ("return a < b", "boundary", ["a < b → a <= b"]),
        ("return a >= b", "boundary", ["a >= b → a > b"]),
        ("return a == b", "condition", ["a == b → a != b"]),
        ("return a not in b", "condition", ["a not in b → a in b"]),
        ("return 1 if a else 2", "condition", ["1 if a else 2 → 1 if not a else 2"]),
        ("return [x for x in a if x]", "condition", ["for x in a if x → for x in a if not x"]),
        ("return a and b", "condition", ["a and b → a or b"]),
        ("return 3", "constant", ["3 → 4"]),
        ("return ''", "constant", ["'' → 'X'"]),
        ("return True", "constant", ["True → False"]),
        ("return min(a)", "call", ["min(a) → max(a)", "min(a) → a"]),
        ("return a.strip()", "call", ["a.strip() → a"]),
        ("return a[1:]", "call", ["a[1:] → a"]),
        ("return set(a, k=b)", "call", ["set(a, k=b) → a", "set(a, k=b) → set(a)"]),
        ("return a", "return", ["return a → return None"]),
        ("return a == b", "return", []),
        ("a.sort()", "removed", ["a.sort() → pass"]),
        ("a[0] = b", "removed", ["a[0] = b → pass"]),
        ("a = b", "removed", []),
        ("raise KeyError(a)", "removed", ["raise KeyError(a) → pass"]),
        ("return f(a, b, 1)", "argument", ["f(a, b, 1) → f(b, a, 1)"]),
        ("return f(*a, b)", "argument", []),
        ("return isinstance(a, b)", "argument", []),
        ("return [a, b]", "element", ["[a, b] → [a]"]),
        ("return {a: 1, b: 2}", "element", ["{a: 1, b: 2} → {a: 1}"]),
        ("return {a, b}, {a}", "element", ["({a, b}, {a}) → ({a, b},)", "{a, b} → {a}"]),
        ("a, b = b", "element", []),
        ("while a: b()", "loop", ["while a: → if a:"]),
        ("for x in a: b(x)", "loop", ["for x in a: → for x in [*a][:1]:"]),
        ("return [x for x in a]", "loop", ["for x in a → for x in [*a][:1]"]),
    ]:
        assert changes(body, kind) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", {"pass → return 'X'", "pass → return 2"}),
        ("return f(a)", {"return f(a) → return 'X'", "return f(a) → return 2", "f(a) → f(None)"}),
        ("a.x = b.y", {"a.x = b.y → a.x = None", "b.y → b"}),
        ("yield a", {"(yield a) → (yield 'X')", "(yield a) → (yield 2)"}),
        ("return a[0]", {"return a[0] → return 'X'", "return a[0] → return 2", "a[0] → a"}),
        ("return 'X'", {"return 'X' → return 2"}),
    ],
)
def test_strong_mistakes_are_made_where_there_is_little_to_get_wrong(
    body: str, expected: set[str]
) -> None:
    code = f"def f(a, b=None):\n    {body}\n"
    strong = strong_mutants_of(code, ALL)
    assert {mutant.change for mutant in strong} == expected
    assert not {mutant.code for mutant in strong} & {m.code for m in mutants_of(code, ALL)}


def test_only_what_a_function_does_is_mutated() -> None:
    code = (
        "LIMIT = 1 + 1\n@decorate(1)\ndef f(a: 'int' = 3) -> 'int':\n"
        "    '''Says 1 + 1.'''\n    return a\n"
    )
    assert [mutant.change for mutant in mutants_of(code, ALL)] == ["return a → return None"]


def test_a_mutant_that_compiles_to_the_same_as_the_code_is_left_out() -> None:
    same = "def f(a):\n    return a\n    return None\n"
    assert [mutant.change for mutant in mutants_of(same, ALL)] == ["return a → return None"]
    twice = "def f(a):\n    if not a:\n        pass\n    return 1\n"
    codes = [mutant.code for mutant in mutants_of(twice, ALL)]
    assert len(codes) == len(set(codes))


def test_few_mutants_are_of_as_many_kinds_as_there_are() -> None:
    code = "def f(a, k=3):\n    while a < k + 1 and a != 7:\n        a += 2\n    return max(a, 9)\n"
    first = mutants_of(code, 6)
    assert len({mutant.kind for mutant in first}) == 6
    assert first == mutants_of(code, ALL)[:6]


def test_a_mutant_tells_its_line() -> None:
    code = "def f(a):\n    b = [x for x in a\n         if x]\n    return len(b) + 1\n"
    lines = {mutant.kind: mutant.line for mutant in mutants_of(code, 3)}
    assert lines == {"operator": 4, "condition": 2, "constant": 4}


@pytest.mark.parametrize(
    "code", ["", "x = 1", "def f(): print 3", "def f(:", "\x00", "def f():\n  return " + "(" * 300]
)
def test_code_without_a_readable_function_has_no_mutants(code: str) -> None:
    assert mutants_of(code, ALL) == ()


def test_nothing_is_run_while_mutants_are_made() -> None:
    code = "exit(5)\ndef f(a=exit(3)):\n    return exit(4) + 1\n"
    assert mutants_of(code, ALL)


@pytest.mark.parametrize(
    "line",
    [
        "max(a, b)",
        "math.gcd(a, b)",
        "a.union(b, a)",
        "ignores('text', a)",
        "ignores(mark='text')",
    ],
)
def test_a_mistake_that_changes_nothing_is_none(line: str) -> None:
    ignoring = "def ignores(*parts, mark=''):\n    pass\n"
    plain = mutants_of(f"{ignoring}def f(a, b):\n    {line}\n    return a\n", ALL)
    assert not [mutant for mutant in plain if mutant.kind in ("argument", "constant")]


@given(st.integers(0, 20), st.sampled_from(["a + 1", "[x for x in a if x > 1]", "f'{a}{a!r:>3}'"]))
def test_every_mutant_is_a_program_of_its_own_and_no_more_than_asked_for(
    limit: int, expression: str
) -> None:
    mutants = mutants_of(f"def f(a):\n    return {expression}\n", limit)
    assert len(mutants) <= limit
    for mutant in mutants:
        ast.parse(mutant.code)
    assert len({mutant.code for mutant in mutants}) == len(mutants)
