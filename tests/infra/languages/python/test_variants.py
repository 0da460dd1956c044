"""Laws of code that returns nothing, of code that ends at a line, and of the control.

What leaves the first is empty and of the same type; the second has one statement more; the third is
other code that does the same.

Covers `variants`, `returned_empty`, `returned_full` and `returned_unseen`.
"""

import argparse
import ast
import colorsys
import difflib
import heapq
import inspect
import shlex
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.syntax import FunctionNode
from infra.languages.python.variants import renamed_equivalent, returning, stopping_at

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


def returned(code: str, at: int = 0, *, tells: bool = False) -> Any:
    space: dict[str, Any] = {"__name__": "target"}
    exec(returning(HEAD + code, ("empty", "empty inside")[at], tells=tells), space)
    return space["f"]()


@pytest.mark.parametrize("value", FULL)
def test_a_container_is_returned_empty_and_of_its_type(value: str) -> None:
    empty = returned(f"def f():\n    return {value}")
    assert type(empty) is FULL[value]
    assert len(empty) == 0
    with pytest.raises(BaseException, match="a container"):
        returned(f"def f():\n    return {value}", tells=True)


@pytest.mark.parametrize("value", NOTHING)
def test_what_is_no_container_or_empty_is_returned_as_it_is(value: str) -> None:
    assert repr(returned(f"def f():\n    return {value}", tells=True)).split(" at ")[0] == repr(
        eval(value, {"np": np})
    ).split(" at ")[0]  # fmt: skip


@pytest.mark.parametrize("body", ["yield 1", "return map(str, [1])", "return iter([1])"])
def test_an_iterator_has_nothing(body: str) -> None:
    assert list(returned(f"def f():\n    {body}")) == []
    with pytest.raises(BaseException, match="a container"):
        returned(f"def f():\n    {body}", tells=True)


def test_an_iterator_without_end_is_not_read_to_its_end() -> None:
    assert list(returned("def f():\n    while True:\n        yield 1")) == []
    assert list(returned("def f():\n    return\n    yield", tells=True)) == []


@pytest.mark.parametrize(
    ("value", "emptied"),
    [("([1], {2}, 3)", ([], set(), 3)), ("[[1], 'a']", [[], ""]), ("{1: [2]}", {1: []})],
)
def test_what_is_right_inside_is_emptied_by_another(value: str, emptied: object) -> None:
    assert returned(f"def f():\n    return {value}", 1) == emptied


def test_what_the_code_returns_to_itself_is_whole() -> None:
    parts = "def parts():\n    return [1, 2]\ndef f():\n    return sum(parts()) + len(list(g()))\n"
    assert returned(parts + "def g():\n    yield 1") == 4


def test_methods_and_properties_return_nothing_too() -> None:
    code = (
        "class A:\n    @property\n    def a(self): return [1]\n"
        "    @staticmethod\n    def b(): return [1]\n    @classmethod\n    def c(cls): return [1]\n"
        "f = A"
    )
    made = returned(code)
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


def loaded(code: str, name: str = "f") -> Any:
    space: dict[str, Any] = {"__name__": "target"}
    exec(compile(code, "target.py", "exec", dont_inherit=True), space)
    return space[name]


def test_comments_and_names_of_variables_differ_and_parameters_stay() -> None:
    code = 'def f(a, *b, c=1, **d):\n    """Text."""\n    e = a  # why\n    return e\n'
    assert renamed_equivalent(code) == (
        'def f(a, *b, c=1, **d):\n    """Text."""\n'
        "    local_0_0 = None\n    local_0_1 = a\n    return local_0_1"
    )


NESTED = {
    "a closure": "def f(x):\n    y = x\n    def g():\n        return y + z\n    z = 2\n"
    "    return g()",
    "nonlocal": "def f(x):\n    n = 0\n    def g():\n        nonlocal n\n        n += x\n    g()\n"
    "    return n",
    "global": "k = 5\ndef f(x):\n    global k\n    k = x\n    return k",
    "a lambda": "def f(x):\n    y = 2\n    g = lambda y, z=y: y + z\n    return g(x)",
    "a comprehension": "def f(x):\n    y = [i * x for i in range(3)]\n    return y, [y for y in y]",
    "a walrus": "def f(x):\n    y = [(z := i) for i in range(x % 5 + 1)]\n    return y, z",
    "a class": "def f(x):\n    y = x\n    class A:\n        z = y + 1\n        w = z\n"
    "    return A.z, A.w, y",
    "an exception": "def f(x):\n    try:\n        y = 1 // (x % 2)\n"
    "    except ZeroDivisionError as e:\n        y = str(e)\n    return y",
    "an import": "def f(x):\n    import math as m\n    y = m.gcd(x, 12)\n    return y",
    "a match": "def f(x):\n    y = [x, 2]\n    match y:\n        case [a, *rest]:\n"
    "            return a, rest, y",
    "keywords": "def f(x):\n    def g(y=1, *, z):\n        return y - z\n    y = z = x\n"
    "    return g(y=y, z=z + 1)",
    "its own names": "def f(x):\n    y = x\n    return locals(), eval('y')",
    "a default": "def f(x, y=[0]):\n    z = y\n    z[0] += x\n    return list(z)",
    "a generator": "def f(x):\n    def g():\n        y = yield x\n        z = y\n        yield z\n"
    "    return list(g())",
    "a deleted variable": "def f(x):\n    y = x\n    del y\n    try:\n        return y\n"
    "    except UnboundLocalError:\n        return x",
    "a text with its name": "def f(x):\n    y = x\n    return f'{y=} {y!r:>4}'",
    "taken names": "def f(x):\n    local_0_1 = x\n    local_0 = 3\n    y = 1\n"
    "    return local_0_1, local_0, y",
    "an augmented loop": "def f(x):\n    y = 0\n    for i, (j, k) in enumerate([(1, x), (2, 3)]):\n"
    "        y += i * j * k\n    else:\n        y -= 1\n    return y, i, j",
    "a loop with a file": "def f(x):\n    import contextlib\n"
    "    with contextlib.nullcontext(x) as y:\n        z: int = y\n    return z",
}  # fmt: skip


def test_every_kind_of_scope_keeps_its_meaning() -> None:
    for shape, code in NESTED.items():
        assert renamed_equivalent(code) != code, shape
        for argument in (0, 1, 7):
            assert loaded(renamed_equivalent(code))(argument) == loaded(code)(argument), shape


READER = """
import sys
class Table:
    def query(self, text):
        name = text.partition("@")[2]
        return sys._getframe(1).f_locals[name]
def f(x, text="a > @limit"):
    table = Table()
    limit = x * 2
    other = limit
    return table.query("a > @limit"), table.query(text), table.query(f"b < {x} + @other"), other
"""


@pytest.mark.parametrize("argument", [0, 1, 7])
def test_a_variable_that_a_text_names_keeps_its_name(argument: int) -> None:
    control = renamed_equivalent(READER)
    assert "_1 = Table()" in control
    assert loaded(control)(argument) == loaded(READER)(argument)


@cache
def changed(module: ModuleType, name: str) -> Any:
    return loaded(renamed_equivalent(inspect.getsource(module)), name)


LINES = st.lists(st.text("ab \t-", max_size=8), max_size=8)


@given(text=st.text("ab -\n\t", max_size=200), width=st.integers(1, 30))
def test_wrapping_is_the_same(text: str, width: int) -> None:
    assert changed(textwrap, "wrap")(text, width) == textwrap.wrap(text, width)


@given(first=LINES, second=LINES)
def test_comparing_is_the_same(first: list[str], second: list[str]) -> None:
    assert list(changed(difflib, "unified_diff")(first, second)) == list(
        difflib.unified_diff(first, second)
    )


@given(text=st.text("a'\" \\#", max_size=20))
def test_splitting_is_the_same(text: str) -> None:
    def outcome(split: Any) -> object:
        try:
            return split(text, comments=True)
        except ValueError as error:
            return str(error)

    assert outcome(changed(shlex, "split")) == outcome(shlex.split)


@given(numbers=st.lists(st.integers()), count=st.integers(0, 9))
def test_choosing_is_the_same(numbers: list[int], count: int) -> None:
    assert changed(heapq, "nsmallest")(count, numbers) == heapq.nsmallest(count, numbers)


@given(*[st.floats(0, 1)] * 3)
def test_converting_is_the_same(red: float, green: float, blue: float) -> None:
    assert changed(colorsys, "rgb_to_hls")(red, green, blue) == colorsys.rgb_to_hls(
        red, green, blue
    )


@pytest.mark.parametrize("module", [argparse, ast, difflib, textwrap, shlex, heapq])
def test_nearly_every_function_of_a_module_is_other_code(module: ModuleType) -> None:
    source = inspect.getsource(module)
    control = renamed_equivalent(source)
    compile(control, "target.py", "exec", dont_inherit=True)
    functions = [node for node in ast.walk(ast.parse(control)) if isinstance(node, FunctionNode)]
    changed = [one for one in functions if "local_" in ast.unparse(one)]
    assert len(changed) > 0.9 * len(functions)


@pytest.mark.parametrize("code", ["def f(:", "print 'x'", "\0", "x = " + "(" * 400, ""])
def test_code_that_cannot_be_read_stays(code: str) -> None:
    assert renamed_equivalent(code) == code
