"""Laws of code that returns nothing, and of code that ends where a line is reached.

What leaves the one is empty and of the same type; the other has one statement more.

Covers `variants`, `returned_empty`, `returned_full` and `returned_unseen`.
"""

from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest

from infra.languages.python.variants import returning, stopping_at

HEAD = '''"""Documentation."""
from __future__ import annotations
from collections import *
import numpy as np
'''
FULL = {
    "[1]": list, "(1, 2)": tuple, "{1: 2}": dict, "{1}": set, "frozenset([1])": frozenset,
    "'text'": str, "b'bytes'": bytes, "bytearray(b'x')": bytearray, "range(3)": range,
    "deque([1], 3)": deque, "Counter('ab')": Counter, "defaultdict(list, a=1)": defaultdict,
    "OrderedDict(a=1)": OrderedDict, "{1: 2}.keys()": type({}.keys()),
    "np.ones((2, 2))": np.ndarray,
    "memoryview(b'x')": memoryview,
}  # fmt: skip
NOTHING = ["None", "0", "1.5", "True", "np.float64(1)", "np.array(1)", "[]", "''", "{}", "object()"]


def run(code: str, at: int = 0, *, tells: bool = False) -> Any:
    space: dict[str, Any] = {"__name__": "target"}
    exec(returning(HEAD + code, ("empty", "empty inside")[at], tells=tells), space)
    return space["f"]()


@pytest.mark.parametrize("value", FULL)
def test_a_container_is_returned_empty_and_of_its_type(value: str) -> None:
    empty = run(f"def f():\n    return {value}")
    assert type(empty) is FULL[value]
    assert len(empty) == 0
    with pytest.raises(BaseException, match="a container"):
        run(f"def f():\n    return {value}", tells=True)


@pytest.mark.parametrize("value", NOTHING)
def test_what_is_no_container_or_empty_is_returned_as_it_is(value: str) -> None:
    assert repr(run(f"def f():\n    return {value}", tells=True)).split(" at ")[0] == repr(
        eval(value, {"np": np})
    ).split(" at ")[0]  # fmt: skip


@pytest.mark.parametrize("body", ["yield 1", "return map(str, [1])", "return iter([1])"])
def test_an_iterator_has_nothing(body: str) -> None:
    assert list(run(f"def f():\n    {body}")) == []
    with pytest.raises(BaseException, match="a container"):
        run(f"def f():\n    {body}", tells=True)


def test_an_iterator_without_end_is_not_read_to_its_end() -> None:
    assert list(run("def f():\n    while True:\n        yield 1")) == []
    assert list(run("def f():\n    return\n    yield", tells=True)) == []


@pytest.mark.parametrize(
    ("value", "emptied"),
    [("([1], {2}, 3)", ([], set(), 3)), ("[[1], 'a']", [[], ""]), ("{1: [2]}", {1: []})],
)
def test_what_is_right_inside_is_emptied_by_another(value: str, emptied: object) -> None:
    assert run(f"def f():\n    return {value}", 1) == emptied


def test_what_the_code_returns_to_itself_is_whole() -> None:
    parts = "def parts():\n    return [1, 2]\ndef f():\n    return sum(parts()) + len(list(g()))\n"
    assert run(parts + "def g():\n    yield 1") == 4


def test_methods_and_properties_return_nothing_too() -> None:
    code = (
        "class A:\n    @property\n    def a(self): return [1]\n"
        "    @staticmethod\n    def b(): return [1]\n    @classmethod\n    def c(cls): return [1]\n"
        "f = A"
    )
    made = run(code)
    assert (made.a, made.b(), made.c()) == ([], [], [])


def test_code_that_is_no_python_has_none() -> None:
    assert returning("print 1", "empty", tells=False) == ""


@pytest.mark.parametrize(
    "look",
    [
        "list(it)", "it == 1", "it + 1", "1 + it", "it.x", "bool(it)", "len(it)", "f'{it}'",
        "it[0]", "1 in it", "isinstance(it, int)", "hash(it)", "it()", "next(it)", "it < 1",
        "repr(it)", "float(it)", "sorted([it, it])",
    ],
)  # fmt: skip
def test_what_nobody_can_look_at_stops_who_looks_whatever_is_caught(look: str) -> None:
    space: dict[str, Any] = {"__name__": "target"}
    code = "def f():\n    return [1]\ndef g():\n    return None"
    exec(returning(code, "unseen", tells=False), space)
    it = space["f"]()
    assert it is not None
    assert space["g"]() is None
    with pytest.raises(BaseException, match="looked at"):
        eval(look, {"it": it})


CODE = """import os
def f(x):
    if x:
        return 1
    elif x is None:
        y = 2
    try:
        z = (1 +
             2)
    except ValueError:
        z = 3
    return z
"""


@pytest.mark.parametrize(
    ("line", "behind"),
    [
        (1, "import os"), (3, "if x:"), (4, "return 1"), (5, "if x is None:"), (6, "y = 2"),
        (8, "z = 1 + 2"), (9, "z = 1 + 2"), (11, "z = 3"), (12, "return z"),
    ],
)  # fmt: skip
def test_the_process_ends_before_the_innermost_statement_of_a_line(line: int, behind: str) -> None:
    lines = [one.strip() for one in stopping_at(CODE, line).splitlines()]
    assert lines[lines.index("__import__('os')._exit(1)") + 1] == behind


def test_what_is_in_no_statement_has_none() -> None:
    assert stopping_at(CODE, 99) == stopping_at("print 1", 1) == ""
