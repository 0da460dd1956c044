"""Laws of canonical forms: equal for codes that cannot but do the same, and for no others."""

import ast
import colorsys
import heapq
import inspect
import re
import shlex
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.languages.python.canonical import canonical_of
from infra.languages.python.control import rename_variables
from infra.languages.python.mutation import mutants_of, strong_mutants_of
from infra.languages.python.syntax import parse

TOTAL = "def total(items, start=0):\n    n = start\n    for item in items:\n        n += item\n"
TOTAL += "    return n"
FUNCTIONS: list[Callable[..., Any]] = [
    colorsys.rgb_to_hls, colorsys.hsv_to_rgb, heapq.merge, heapq.nsmallest,
    shlex.join, shlex.quote, textwrap.dedent, textwrap.indent, textwrap.shorten,
]  # fmt: skip
SOURCES = [textwrap.dedent(inspect.getsource(function)) for function in FUNCTIONS]


def are_alike(one: str, other: str) -> bool:
    return canonical_of(one) == canonical_of(other)


@pytest.mark.parametrize(
    "other",
    [
        f"# adds up\n{TOTAL}  # the sum",
        TOTAL.replace("    ", "\t"),
        TOTAL.replace("\n    n = start", '\n    """Return the sum."""\n    n = start'),
        TOTAL.replace("n += item\n", "\n\n            n += (item)\n"),
        TOTAL.replace("items, start=0)", "items: list[int], start: int = 0) -> 'int | None'"),
        TOTAL.replace("items, start=0)", "items: dict[str, list], start: int | None = 0) -> None"),
        re.sub(r"\bitem\b", "one", re.sub(r"\bn\b", "found", TOTAL)),
    ],
)
def test_spelling_is_no_part_of_the_form(other: str) -> None:
    assert other != TOTAL
    assert are_alike(TOTAL, other)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("start=0", "start=1"),
        ("start=0", "start=0.0"),
        ("start=0", "*, start=0"),
        ("start=0", "start"),
        ("items, start=0", "items, begin=0"),
        ("n += item", "n -= item"),
        ("n += item", "n = n + item"),
        ("n += item", "n += items"),
        ("n = start", "n = 0"),
        ("return n", "return start"),
        ("return n", "return"),
        ("    return n", "        return n"),
        ("def total", "def sum_of"),
        ("def total", "async def total"),
        ("items,", "items: print(),"),
        ("items,", "items: np.ndarray,"),
        ("items,", "items: int['x'],"),
        ("items,", "items: int | 'x',"),
    ],
)
def test_what_a_caller_may_see_is_part_of_the_form(before: str, after: str) -> None:
    other = (
        TOTAL.replace(before, after)
        if before != "items, start=0"
        else TOTAL.replace("start", "begin")
    )
    assert other != TOTAL
    assert not are_alike(TOTAL, other)


LOOKS = [
    'def f(x):\n    "one"\n    return f.__doc__',
    'def f(x):\n    "one"\n    return getattr(f, "__doc__")',
    'import inspect\ndef f(x):\n    "one"\n    return inspect.getsource(f)',
    'from docopt import docopt\ndef f(x):\n    "one"\n    return docopt("x")',
    '@command\ndef f(x):\n    "one"\n    return x',
    'class F(Base):\n    def f(self):\n        "one"\n        return 1',
    'class F(metaclass=M):\n    "one"\n    y = 1',
    'def f(x):\n    y: int = one(x)\n    return eval("y")',
    'def f(x):\n    "one"',
]


@pytest.mark.parametrize("code", LOOKS[:-1])
def test_code_that_something_may_look_at_keeps_its_documentation(code: str) -> None:
    assert not are_alike(code, code.replace("one", "two"))


def test_a_docstring_alone_is_an_empty_function() -> None:
    assert are_alike(LOOKS[-1], "def f(x):\n    pass")


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    y = x\n    return locals()",
        "def f(x):\n    def g():\n        nonlocal y\n        y = x\n    y = 0\n    return g",
        "def f():\n    try:\n        return y\n        y = 1\n    except E as e:\n        return e",
        "def f(x):\n    y = x\n    return f'{y=}'",
        "y = 1\ndef f(x):\n    return x + y",
        "class A:\n    y = 1",
        "def f(x, y=0):\n    return x + y",
        "def f(x):\n    global y\n    y = x",
    ],
)
def test_names_that_others_may_see_are_part_of_the_form(code: str) -> None:
    assert not are_alike(code, code.replace("y", "z"))


@pytest.mark.parametrize(
    "code",
    [
        "def f(df, n):\n    y = n * 2\n    return df.query('a > @y')",
        "def f(df, n):\n    y = n * 2\n    return df.query(f'a > @y and b < {n}')",
        "import numexpr\ndef f(a):\n    y = a * 2\n    return numexpr.evaluate('y**2 + 1')",
        "TEXT = 'a > @y'\ndef f(df, n):\n    y = n * 2\n    return df.query(TEXT)",
        "def f(df, n, text='a > @y'):\n    y = n * 2\n    return df.query(text)",
    ],
)
def test_names_that_a_text_reads_are_part_of_the_form(code: str) -> None:
    other = re.sub(r"\by = ", "z = ", code)
    assert other != code
    assert not are_alike(code, other)


def test_names_beside_one_that_a_text_reads_are_no_part_of_the_form() -> None:
    code = "def f(df, n):\n    y = n\n    x = y * 2\n    return df.eq('a > @x')"
    assert are_alike(code, code.replace("y", "z"))


def test_documentation_reads_no_names() -> None:
    code = "@command\ndef f(n):\n    'Return y.'\n    y = n * 2\n    return y"
    assert are_alike(code, code.replace("y =", "z =").replace("return y", "return z"))


def test_hints_of_types_with_another_meaning_are_part_of_the_form() -> None:
    for head in ("int = print\n", "from sizes import *\n", "from sizes import number as int\n"):
        assert not are_alike(f"{head}{TOTAL}", f"{head}{TOTAL}".replace("items,", "items: int,"))


def test_fields_of_classes_keep_their_hints() -> None:
    code = "class A:\n    x: int = 1"
    assert not are_alike(code, "class A:\n    x = 1")


@pytest.mark.parametrize("code", ["print 1", "def f(:", "f(" * 5_000 + ")" * 5_000, "\x00"])
def test_code_that_cannot_be_read_is_its_own_form(code: str) -> None:
    assert canonical_of(code) == code


@pytest.mark.parametrize("source", SOURCES, ids=[function.__name__ for function in FUNCTIONS])
def test_no_mutant_has_the_form_of_its_code(source: str) -> None:
    mutants = [*mutants_of(source, 60), *strong_mutants_of(source, 20)]
    assert len(mutants) > 5
    assert not [mutant.change for mutant in mutants if are_alike(source, mutant.code)]


@settings(deadline=None, max_examples=60)
@given(
    source=st.sampled_from(SOURCES),
    comment=st.text(st.characters(codec="utf-8", exclude_characters="\r\n\f\x00"), max_size=30),
    draw=st.randoms(use_true_random=False),
)
def test_comments_empty_lines_and_docstrings_anywhere_change_no_form(
    source: str, comment: str, draw: Any
) -> None:
    tree = parse(source)
    free = {node.lineno for node in tree.body[0].body[1:]}  # type: ignore[attr-defined]
    lines = []
    for number, line in enumerate(source.splitlines(), 1):
        if number in free and draw.random() < 0.5:
            lines += ["", f"{' ' * draw.randrange(9)}# {comment}"]
        lines.append(line)
    assert are_alike(source, "\n".join(lines))


def test_variables_are_named_by_the_order_of_their_places() -> None:
    one = parse("def f(x):\n    b = x\n    a = b\n    return a + b")
    other = parse("def f(x):\n    p = x\n    q = p\n    return q + p")
    [(_, prefix)] = rename_variables(one)
    rename_variables(other)
    assert prefix == "local_0"
    assert ast.unparse(one).splitlines()[1:3] == ast.unparse(other).splitlines()[1:3]
