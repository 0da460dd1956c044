"""Laws of messages and signatures.

Covers `failures`.
"""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.failures import without_messages
from infra.languages.python.functions import signature_of
from infra.languages.python.mutation import mutants_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("raise ValueError('no')", "raise ValueError('nothing')"),
        ("raise ValueError('no')", "raise ValueError()"),
        ("raise ValueError(f'{x}')", "raise ValueError('a %s' % x)"),
        ("raise ValueError('a' + x + 'b')", "raise ValueError('{}'.format(x))"),
        ("assert x, 'no'", "assert x"),
        ("log.info('a', x)", "log.info('b', x)"),
        ("self.logger.warning('a')", "self.logger.warning('b')"),
        ("self.report_error(line + 1, at=x)", "self.report_error(line - 1)"),
    ],
)
def test_wording_of_exceptions_and_of_the_log_makes_no_difference(one: str, other: str) -> None:
    assert without_messages(one) == without_messages(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("raise ValueError('no')", "raise KeyError('no')"),
        ("raise ValueError(x)", "raise ValueError(y)"),
        ("raise ValueError('no')", "pass"),
        ("print('a')", "print('b')"),
        ("x = 'a'", "x = 'b'"),
        ("math.log('a')", "math.log('b')"),
        ("blog.info('a')", "blog.info('b')"),
        ("errors.append(x + 1)", "errors.append(x - 1)"),
        ("y = mean_error(x + 1)", "y = mean_error(x - 1)"),
        ("assert x, 'no'", "assert y, 'no'"),
    ],
)
def test_whatever_else_differs_still_does(one: str, other: str) -> None:
    assert without_messages(one) != without_messages(other)


def test_mutants_of_wording_alone_can_be_told_from_others() -> None:
    code = "def f(x):\n    if x > 1:\n        raise ValueError('too large')\n    return x"
    plain = without_messages(code)
    alike = [m.change for m in mutants_of(code, 99) if without_messages(m.code) == plain]
    assert alike == ["'too large' → 'too largeX'"]


@pytest.mark.parametrize("code", ["def f(:", "", "\0"])
def test_code_that_cannot_be_parsed_stays_as_it_is(code: str) -> None:
    assert without_messages(code) == code


SECRET = "how_it_is_done"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (f"def f(a, *, b=3):\n    '''{SECRET}'''\n    return 1", "def f(a, *, b=3):\n    ..."),
        (f"import os\nX = '{SECRET}'\ndef f(self): {SECRET}", "def f(self):\n    ..."),
        (f"async def f():\n    await {SECRET}", "async def f():\n    ..."),
        (f"class A:\n    x = '{SECRET}'\n    def f(): 1", "class A:\n\n    def f():\n        ..."),
        (f"class A:\n    x = '{SECRET}'", "class A:\n    ..."),
        (f"def f(a,\n      b): print '{SECRET}'", "def f(a,\n      b):"),
        (f"print '{SECRET}'", ""),
    ],
)  # fmt: skip
def test_a_signature_shows_what_can_be_called_and_nothing_of_how_it_is_done(
    code: str, shown: str
) -> None:
    assert signature_of(code) == shown


@given(st.text())
def test_any_text_has_a_signature(code: str) -> None:
    assert isinstance(signature_of(code), str)


def test_a_signature_is_code_itself() -> None:
    ast.parse(signature_of("class A:\n    def f(self, a=(1, 2)): return a\ndef g(): pass"))
