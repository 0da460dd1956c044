"""Whatever a model or a corpus calls a program, the host reads it or refuses it, and soon.

Covers what reads programs and code outside a box: `agents.gates.static_checks`,
`agents.gates.stubs`,
`agents.committee.generation`, `agents.roles.fix` and `infra.languages.python`.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from hypothesis import strategies as st

from agents.committee.generation import _problem_of
from agents.evidence import Draft
from agents.gates import Gate
from agents.gates.static_checks import faults_of, sets_on_modules
from agents.gates.stubs import PYTHON_STUBS
from agents.roles.fix import Repair, _apply
from agents.roles.write import _FENCE
from infra.languages.python import Python
from infra.languages.python.failures import assertions_of
from infra.languages.python.syntax import parse
from infra.text import is_blank
from sandbox.shell import steps_of
from tasks.corpus.functions import parse_function
from tasks.filters.python_code import _SESSION, _is_python_2
from tests import fuzzing
from tests.agents.gates.oracle_cases import CASES
from tests.fakes.sandbox import PASSED, FakeBox
from tests.rows import first_rows

# A mutant or a control costs as much as all other readings together, so fewer cases have them.
CHANGES = (30, pytest.param(10_000, marks=fuzzing.NIGHTLY))
LONGEST_S = 60.0  # of the processor; what grows with the square of a text takes minutes
PYTHON = Python()
CODE = "def clamp(value, low, high):\n    return max(low, min(value, high))\n"
LACKING, BESIDE = "def f(): return a, b, x", "import a\nx = 1"
SYNTAX = """
class A:
    '''é'''
    async def f(self, *a: "int" = 0o7, **k):
        async with a as b: yield [await x async for x in b if (y := x)]
match x:
    case {'a': [1, *rest], **more} | A(b=-1) as z if z: pass
try: assert f'{f(1)!r:>{2}}' == '1'
except* (ValueError, E) as group: raise
@d(1)
def f(a, /, b, *, c=lambda: (yield)): global g; del a.b, c[1:2]; return f
"""
TEXTS = sorted({SYNTAX, *(text for case in CASES for text in (case.program, case.code))})


def deep(many: int) -> Iterator[str]:
    """Yield what is nested or chained so many times."""
    yield from (f"{'(' * many}1{')' * many}", f"{'[' * many}1{']' * many}", f"{'{1:' * many}1")
    yield from (
        f"{'-' * many}1",
        f"{'not ' * many}1",
        f"{'lambda:' * many}1",
        f"{'await ' * many}x",
    )
    yield from (
        f"f{'(1)' * many}",
        f"f{'.a' * many}",
        f"f{'[0]' * many}",
        f"{'f(' * many}{')' * many}",
    )
    yield from (" + ".join("1" * many), " == ".join("x" * many), " and ".join("x" * many))
    yield from (f"{'x = ' * many}1", f"{'x if y else ' * many}z", f"{'*' * many}a", ";" * many)
    yield "if x: pass\n" + "elif x: pass\n" * min(many, 1_100) + "else: pass\n"
    yield (
        "\n".join(f"{' ' * level}if x:" for level in range(min(many, 330)))
        + "\n"
        + " " * many
        + "pass\n"
    )
    yield (
        "\n".join(f"{' ' * level}def f(f):" for level in range(min(many, 330)))
        + "\n"
        + " " * many
        + "pass\n"
    )
    yield f"f'{'{f(' * many}1{')}' * many}'"
    yield f"f'{{1:{'{2:' * many}{'}' * many}}}'"


ODD = [  # but no half of a surrogate pair: whatever comes in has it replaced
    "\0", "\f", "\v", "\r", "\r\n", "\ufeff", "\xa0", "\u2028", "\u202e", "'\\ud800'",
    "# coding: rot13\n", "# -*- coding: utf-16 -*-\n", "\\\n", "\\", "\t", "\n \t", "\x1a", "\x7f",
    "'", '"""', "f'''", "rb'\\'", "'\\N{DIGIT ONE}'", "'\\N{no such}'", "'\\x'", "b'é'", "f'{'",
    "f'{x!z}'", "f'{x=}'", "f'{\"\\n\"}'", "f'{a[\"b\"]}'", "f'{\"'\"}'", "f'{{'", "f'{x:{y}}'",
    "f'\\N{DASH}{1}'", "9" * 5_000, "0x" + "f" * 5_000, "0o" + "7" * 9_000, "0b" + "1" * 20_000,
    "1_0", "0777", "1e999", "-1e999", "1e999j", "1j", "1" + "0" * 4_000, "x" * 100_000,
    "'" + "é" * 50_000 + "'", " " * 100_000, "2 ** 9999", "'a' * 10**9", "(1,) * 10**9",
    "1 << 10**9", "1 // 0", "-0.0", "...", "__debug__", "None = 1", "f() = 1", "a := 1",
    "(a := 1)", "*a", "**a", "yield", "await x", "return", "break", "nonlocal x", "global x",
    "async ", "print 'x'", "exec 'x'", "`x`", "x <> y", "except E, e:", "def f(:",
    "from target import *", "from . import x", "from .. import target", "import target.a as b",
    "import inspect as target", "sys.modules['target'] = 1", "target.clamp = 1",
    "del target.clamp", "setattr(target, 1, 2)", "setattr()", "patch()", "assert", "assert ()",
    "assert (x, 'm')", "assert x, y", "self.assertEqual()", "self.assertTrue(*a)", "suppress(*a)",
    "with suppress(*x): assert y", "__code__", "\N{MATHEMATICAL FRAKTUR SMALL F}", "ﬁ", "µ", "ª",
    "·", "x·", "λ = 1", "#", "# type: ignore", "\n@", "class clamp: clamp: int",
    "for clamp in x: pass", "[clamp for clamp in x]", "case", "type x = int", "locals()",
    "local_0_0 = 1", "from __future__ import annotations", "from __future__ import braces",
    "from __future__ import x as y",
]  # fmt: skip
PIECES = [*ODD, *(text for many in (40, 90, 330, 1_100, 4_000) for text in deep(many))]


class Edit(NamedTuple):
    """A change of a text, small to show: what is put in place of which part."""

    start: int
    length: int
    piece: int | str | None

    def of(self, text: str) -> str:
        """Return the changed text."""
        start = self.start % (len(text) + 1)
        old = text[start : start + self.length]
        put = PIECES[self.piece] if isinstance(self.piece, int) else self.piece
        return text[:start] + (2 * old if put is None else put) + text[start + self.length :]


EDITS = st.lists(
    st.builds(
        Edit,
        st.integers(0, 2_000),
        st.sampled_from((0, 0, 0, 1, 5, 40)),
        st.integers(0, len(PIECES) - 1) | st.text(max_size=3) | st.none(),
    ),
    min_size=1,
    max_size=4,
)
FORMS = st.sampled_from((str, str, lambda text: text.replace("\n", "\r"), "\ufeff{}".format))


def examine(law: Callable[[str], None], number: int) -> None:
    """Check a law of programs for so many of them: odd pieces put in, parts cut out or doubled."""

    def of_edits(place: int, edits: list[Edit], form: Callable[[str], str]) -> None:
        text = TEXTS[place]
        for edit in edits:
            text = edit.of(text)
        law(form(text))

    fuzzing.examine(of_edits, number, st.integers(0, len(TEXTS) - 1), EDITS, FORMS)


def keeps(value: object) -> None:
    """Check that a store and a prompt can hold what is made of a program."""
    json.dumps(value).encode()
    if isinstance(value, str):
        value.encode()


def answer(call: Callable[[], object]) -> object:
    """Return what a call gives, None for its refusal of a text that is no Python."""
    try:
        return call()
    except SyntaxError:
        return None


@pytest.mark.parametrize("number", fuzzing.NUMBERS)
def test_any_program_is_read_or_refused(number: int) -> None:
    def law(text: str) -> None:
        keeps(
            [
                PYTHON_STUBS.usable(text, LACKING),
                PYTHON_STUBS.usable(BESIDE, text),
                sets_on_modules(text),
            ]
        )
        if PYTHON_STUBS.usable(BESIDE, text):
            parse(PYTHON.with_support_code(text, BESIDE, scaffolding=True))
        for faults in (faults_of(text, CODE), faults_of(CASES[0].program, text)):
            assert set(faults) <= set(Gate)
            keeps("".join(faults.values()).encode(errors="replace").decode())
        answer(lambda: assertions_of(text))
        assert PYTHON.scaffolded(text).endswith(text) or "DummySelf" in PYTHON.scaffolded(text)
        assert isinstance(PYTHON.signature_of(text), str)
        for function in answer(lambda: PYTHON.functions_of(text)) or ():  # type: ignore[attr-defined]
            assert function.text
            _ = function.text_without_documentation, function.documentation, function.parameters
        assert _problem_of(text) or parse(text).body
        assert isinstance(_FENCE.sub(r"\1", text), str)
        _ = _SESSION.search(text), _is_python_2(text), steps_of(text[:2_000])
        if not is_blank(text):
            answer(lambda: parse_function(text, "here"))

    examine(law, number)


@pytest.mark.parametrize("number", CHANGES)
def test_any_code_has_mutants_and_a_control_that_can_be_sent_and_kept(number: int) -> None:
    def law(text: str) -> None:
        for mutant in (*PYTHON.mutants_of(text, 3), *PYTHON.strong_mutants_of(text, 3)):
            keeps([mutant.change, mutant.code])
        keeps(PYTHON.renamed_equivalent(text))

    examine(law, number)


@pytest.mark.parametrize("number", CHANGES)
def test_any_repair_is_made_or_noted_as_failed(number: int) -> None:
    box = FakeBox(lambda program, installed: PASSED, frozenset())
    drafts = [Draft(reading="r", program=case.program) for case in CASES[:3]]

    def law(text: str) -> None:
        for action in ("install", "add_import", "add_import_to_code", "replace_program"):
            repair = Repair(diagnosis="d", action=action, content=text)
            odd = Draft(reading="r", program=text)
            for draft in (drafts[len(text) % 3], odd):
                fixed = asyncio.run(_apply(repair, draft, CODE, box))
                assert fixed is not None
                assert fixed.repairs
                assert all(len(step.command) <= 2_000 for step in fixed.repairs)

    examine(law, number)


GROWING = {
    "headers that never end": "def f()\n" * 25_000,
    "one header that never ends": "def f(" + ")" * 100_000,
    "names that are not bound": "def f():\n" + "".join(f"    return n{i}\n" for i in range(4_000)),
    "functions": "".join(f"def f{i}(): x{i} = 0\n" for i in range(1_000)),
    "code that runs nowhere": "def f():\n    if 0:\n" + "        g(1)\n" * 1_000,
    "code that is all the same": "def f(x):\n" + "    x = x + 1\n" * 1_000,
    "assertions": "import target\n" + "assert target.f(1) == 2\n" * 1_500,
    "empty lines": "\n" * 100_000 + "print x",
    "spaces": "print" + " " * 100_000 + "=",
    "empty lines with spaces": " \n" * 50_000 + "x",
    "imports": "".join(f"import a{i} as target{i}\n" for i in range(2_000)),
    "one name": "def f(x):\n    return " + "x" * 100_000,
    "one text": "def f(x):\n    return '" + "\\\\" * 50_000 + "'",
    "elements": "def f(x):\n    return [" + "1, " * 5_000 + "]",
    "handlers": "import target\n" + "try: assert x\nexcept E: pass\n" * 1_000,
}


@pytest.mark.parametrize("name", first_rows(3, GROWING))
def test_a_long_text_is_read_soon(name: str) -> None:
    text, started = GROWING[name], time.process_time()
    readings: list[Callable[[], object]] = [
        lambda: (faults_of(text, CODE), sets_on_modules(text)),
        lambda: faults_of(CODE, text),
        lambda: (PYTHON_STUBS.usable(text, CODE), PYTHON_STUBS.usable("import x", text)),
        lambda: assertions_of(text),
        lambda: PYTHON.scaffolded(text),
        lambda: PYTHON.signature_of(text),
        lambda: PYTHON.functions_of(text),
        lambda: PYTHON.mutants_of(text, 10),
        lambda: PYTHON.strong_mutants_of(text, 10),
        lambda: PYTHON.renamed_equivalent(text),
        lambda: (_SESSION.search(text), _is_python_2(text)),
    ]
    for reading in readings:
        answer(reading)
        assert time.process_time() - started < LONGEST_S
