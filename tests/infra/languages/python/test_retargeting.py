"""Laws of programs for another code: the calls are the same, and what cannot take them is refused.

Covers `infra.languages.python.retargeting`.
"""

import ast

import pytest

from infra.languages.python.retargeting import MisfitError, retargeted

CODE = "def turn(items, n=1):\n    return items[n:] + items[:n]"
PROGRAM = "from target import turn\n\ndef test_turn():\n    assert turn([1, 2], 1) == [2, 1]\n"


def other(header: str, body: str = "return items") -> str:
    return f"{header}:\n    {body}"


def run(program: str, code: str) -> list[object]:
    """Return what a program notes in ``seen``, with the functions of a code of this test."""
    space: dict[str, object] = {}
    exec(code, space)
    tree = ast.parse(program)
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom)]
    for node in ast.parse(program).body:
        if isinstance(node, ast.ImportFrom):
            space.update({item.asname or item.name: space[item.name] for item in node.names})
    exec(compile(tree, "program", "exec"), space)
    found = space["seen"]
    assert isinstance(found, list)
    return found


def test_a_program_for_a_function_of_the_same_name_stays_as_it_is() -> None:
    assert retargeted(PROGRAM, CODE, other("def turn(values, k=2)")) == PROGRAM


@pytest.mark.parametrize(
    "head", ["from target import turn", "from target import turn as t\nturn = t"]
)
def test_a_program_calls_the_only_function_of_another_code(head: str) -> None:
    program = f"{head}\nseen = [turn([1, 2, 3]), turn([1, 2, 3], 2), turn([1, 2], n=0)]"
    found = retargeted(program, CODE, "def move(items, n=1):\n    return [n, *items]")
    seen = run(found, "def move(items, n=1):\n    return [n, *items]")
    assert seen == [[1, 1, 2, 3], [2, 1, 2, 3], [0, 1, 2]]
    assert run(program, CODE)[0] == [2, 3, 1]


@pytest.mark.parametrize("head", ["import target", "import target as code"])
def test_functions_taken_from_the_module_are_led_too(head: str) -> None:
    name = head.rsplit(maxsplit=1)[-1]
    found = retargeted(f"{head}\nassert {name}.turn([1])", CODE, other("def move(items)"))
    assert f"{name}.move([1])" in found
    assert "turn" not in found


@pytest.mark.parametrize(
    "code",
    [
        other("def move(items)"),  # too few
        other("def move(items, n, m)"),  # too many
        other("def move(n, items)"),  # in another order
        other("def move(items, n=1)", "yield items"),
        other("async def move(items, n=1)"),
        other("def move(self, items, n=1)"),
        other("def move(items, *, n=1)"),
        f"{other('def move(items, n)')}\n{other('def shift(items, n)')}",
        "turn = 1",
        "def move(items, n:",
    ],
)
def test_a_code_that_cannot_take_the_calls_is_refused(code: str) -> None:
    with pytest.raises(MisfitError, match=r"\w"):
        retargeted(PROGRAM, CODE, code)


@pytest.mark.parametrize(
    "code",
    [
        other("def move(items, n)"),
        other("def move(items, n, m=0)"),
        other("def move(*items)"),
        other("def move(sequence, places, /)"),
        other("def move(items, n)", "def parts():\n        yield 1\n    return list(parts())"),
    ],
)
def test_a_code_that_takes_the_calls_is_not(code: str) -> None:
    assert "move as turn" in retargeted(PROGRAM, CODE, code)


@pytest.mark.parametrize(
    ("call", "header", "fits"),
    [
        ("turn([1], n=2)", "def move(items, n)", True),
        ("turn([1], n=2)", "def move(items, k)", False),
        ("turn([1], n=2)", "def move(items, **more)", True),
        ("turn(items=[1])", "def move(items)", True),
        ("turn(items=[1])", "def move(items, /)", False),
        ("turn(*[[1], 2])", "def move(items, n=4)", True),
        ("turn(*[[1], 2])", "def move(items, k=4)", False),
        ("turn(**{'items': [1]})", "def move(things, n=1)", False),
        ("list(map(turn, [[1]]))", "def move(items, n=1)", True),
        ("list(map(turn, [[1]]))", "def move(items)", False),
    ],
)
def test_keywords_and_calls_that_are_not_seen_count(call: str, header: str, fits: bool) -> None:
    program = f"from target import turn\nseen = [{call}]"
    if fits:
        assert run(retargeted(program, CODE, other(header)), other(header))
        return
    with pytest.raises(MisfitError):
        retargeted(program, CODE, other(header))


@pytest.mark.parametrize(
    "program",
    [
        "from target import *\nassert turn([1])",
        "import target\nassert getattr(target, 'turn')([1])",
        "import target\nassert vars(target)",
        "from target import turn, LIMIT\nassert turn([LIMIT])",
        "assert 1",
        "from target import turn\nassert " + "-" * 200 + "turn([1])",
        "def",
    ],
)
def test_a_program_whose_use_of_the_code_cannot_be_followed_is_refused(program: str) -> None:
    with pytest.raises(MisfitError, match=r"\w"):
        retargeted(program, CODE + "\nLIMIT = 1", CODE)


def test_methods_are_led_to_methods_as_they_are_called() -> None:
    code, method = other("def scale(self, x)"), other("def grow(self, y)")
    called = "from target import DummySelf, scale\nassert scale(DummySelf(f=2), 3)"
    assert "grow as scale" in retargeted(called, code, method)
    bound = "from target import DummySelf, scale\nassert DummySelf(f=2).scale(3)"
    assert retargeted(bound, code, other("def scale(self, y)")) == bound
    with pytest.raises(MisfitError, match="does not take"):
        retargeted(bound, code, other("def scale(self, y, z)"))
    with pytest.raises(MisfitError, match="called on an object"):
        retargeted(bound, code, method)
    with pytest.raises(MisfitError, match="method"):
        retargeted(called, code, other("def grow(x, y)"))
