"""What a program did is counted: tests, asserts, calls of the target."""

import pytest

from sandbox.base import Box

pytestmark = pytest.mark.docker

FUNCTIONS = """
from target import double

def test_positive():
    assert double(1) == 2
    assert double(2) == 4

def test_negative():
    assert double(-1) == -2

def test_with_parameter(case):
    assert False
"""
CASES = """
import unittest
import target

class Doubling(unittest.TestCase):
    def setUp(self):
        self.number = 3

    def test_it(self):
        self.assertEqual(target.double(self.number), 6)
        with self.assertRaises(TypeError):
            target.double(None)

if __name__ == "__main__":
    unittest.main()
"""
EXPECTING = """
from target import double
class pytest:
    class raises:
        def __init__(self, kind): self.kind = kind
        def __enter__(self): pass
        def __exit__(self, kind, *_): return kind is self.kind
def test_it():
    with pytest.raises(TypeError):
        double(None)
"""
BY_NAME = """
from target import double
from numpy.testing import assert_array_equal, assert_equal as same
def test_it():
    assert_array_equal(double(2), 4)
    same(double(1), 2)
    for number in "1":
        same(double(number), "11")
"""
ASYNCHRONOUS = "import target\nasync def test_it():\n    assert target.double(1) == 2\n"


@pytest.mark.parametrize(
    ("program", "counts"),
    [
        ("from target import double", (0, 0, 0)),
        ("from target import double\nfor n in range(5):\n    assert double(n) == 2 * n", (0, 5, 5)),
        ("def test_hidden():\n    if False:\n        assert True", (1, 0, 0)),
        (FUNCTIONS, (2, 3, 3)),
        (FUNCTIONS + "\ntest_positive()", (2, 3, 3)),
        (CASES, (1, 2, 2)),
        (ASYNCHRONOUS, (1, 1, 1)),
        (EXPECTING, (1, 1, 1)),
        (BY_NAME, (1, 3, 3)),
    ],
)
async def test_counts_are_of_what_ran(box: Box, program: str, counts: tuple[int, ...]) -> None:
    result = await box.run(program)
    assert result.outcome == "passed"
    assert (result.tests_run, result.asserts_executed, result.target_calls) == counts


@pytest.mark.parametrize(
    "lines",
    [
        "def assert_nothing(): pass\nassert_nothing()",
        "assert_nothing = dict\nassert_nothing()",
        "from os import getcwd as assert_nothing\nassert_nothing()",
        "from unittest.mock import *\ndef raises(kind): pass\nraises(ValueError)",
        "from typing import assert_type\nassert_type(1, int)",
        "from os import getpid as assert_type\nfrom typing import assert_type\nassert_type(1, int)",
        "def assert_a(): pass\nfrom __main__ import assert_a as assert_b\nassert_b()",
        "from __main__ import __name__ as assert_a\ndef g(assert_a): assert_a()\ng(dict)",
        "from numpy.testing import assert_\nassert_ = dict\nassert_()",
        "from numpy.testing import assert_\n[assert_() for assert_ in [dict]]",
        "from numpy.testing import assert_\n(lambda assert_: assert_())(dict)",
        "from numpy.testing import assert_\nmatch dict:\n    case assert_:\n        assert_()",
    ],
)
async def test_what_only_sounds_like_an_assertion_is_not_counted(box: Box, lines: str) -> None:
    result = await box.run(f"from target import double\n{lines}\ndouble(1)")
    assert (result.outcome, result.asserts_executed) == ("passed", 0), result


async def test_the_assert_that_fails_is_counted_too_as_are_the_tests_after_it(box: Box) -> None:
    result = await box.run(FUNCTIONS.replace("== 4", "== 5"))
    assert (result.outcome, result.tests_run, result.asserts_executed) == ("assertion_failed", 2, 3)


async def test_a_failing_test_case_fails_the_program(box: Box) -> None:
    result = await box.run(CASES.replace("), 6)", "), 7)"))
    assert (result.outcome, result.tests_run) == ("assertion_failed", 1)
    assert "6 != 7" in result.message


async def test_tests_that_the_program_itself_takes_away_or_binds_anew_are_not_missed(
    box: Box,
) -> None:
    result = await box.run(
        "import functools\n"
        "def test_a(): pass\ntest_b = functools.lru_cache(test_a)\n"
        "def test_c(): pass\ndel test_c\n"
        "def test_d(): pass\ntest_d = functools.wraps(test_d)(lambda: None)\n"
        "def test_e(): pass\ndef test_e(): pass\n"
        "def test_f(): pass\nimport os as test_f\n"
        "if not test_a:\n    def test_g(): pass\n"
        "class A:\n    def test_h(self): pass\n"
        "def test_i(value=1): pass\n"
        "def test_j():\n    global test_j\n    test_j = None\n"
    )
    assert result.outcome == "passed", result
    assert {test.name for test in result.tests} >= {"test_a", "test_e", "test_i", "test_j"}


async def test_a_program_that_stops_in_its_own_test_needs_none_of_the_later_ones(box: Box) -> None:
    result = await box.run(
        "def test_a():\n    assert 0\n[test_a() for _ in '1']\ndef test_b(): pass"
    )
    assert (result.outcome, result.tests_run) == ("assertion_failed", 1)


HIDING = {
    "a manager of its own": """
class quiet:
    def __enter__(self): pass
    def __exit__(self, *_): return True
def test_it():
    with quiet():
        WRONG
""",
    "a manager that yields": """
from contextlib import contextmanager
@contextmanager
def quiet():
    try: yield
    except AssertionError: pass
def test_it():
    with quiet():
        WRONG
""",
    "a manager behind another": """
from contextlib import ExitStack
def test_it():
    with ExitStack() as stack:
        stack.push(lambda *_: True)
        WRONG
""",
    "another name of suppress": """
from contextlib import suppress as quiet
manager = quiet(AssertionError)
with manager:
    WRONG
""",
    "a return at the end": """
def test_it():
    try:
        WRONG
    finally:
        return
""",
    "a loop that goes on": """
for _ in range(2):
    try:
        WRONG
    finally:
        continue
""",
    "another name of the error": """
wrong, = [AssertionError]
def test_it():
    try:
        WRONG
    except wrong:
        pass
""",
    "a decorator": """
def quiet(test):
    def run():
        try: test()
        except BaseException: pass
    return run
@quiet
def check():
    WRONG
def test_it():
    check()
""",
    "a thread": """
import threading
threading.excepthook = lambda *_: None
def check():
    WRONG
def test_it():
    thread = threading.Thread(target=check)
    thread.start()
    thread.join()
""",
    "a future that nobody asks": """
from concurrent.futures import ThreadPoolExecutor
def check():
    WRONG
def test_it():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(check)
""",
    "tasks whose errors are results": """
import asyncio
async def check():
    WRONG
async def test_it():
    await asyncio.gather(check(), return_exceptions=True)
""",
    "a finalizer": """
import sys
sys.unraisablehook = lambda _: None
class Last:
    def __del__(self):
        WRONG
def test_it():
    Last()
""",
}
WRONG = {
    "an assert": "assert double(2) == 5",
    "a method": "__import__('unittest').TestCase().assertEqual(double(2), 5)",
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("way", HIDING)
async def test_a_failed_assertion_that_is_hidden_is_no_success_beside_honest_ones(
    box: Box, way: str, wrong: str
) -> None:
    head = "from target import double\nassert double(1) == 2\n"
    result = await box.run(head + HIDING[way].replace("WRONG", WRONG[wrong]) + "assert True\n")
    assert result.outcome == "raised"
    assert "which the program hides: line " in result.message


HONEST = """
import unittest
from target import double
def demanding(number):
    try:
        return double(number) + 1
    except TypeError:
        return 0
class Cases(unittest.TestCase):
    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(double(number), number * 2, msg="double")
        self.assertRaises(TypeError, double, None)
        with self.assertRaises(TypeError) as caught:
            self.assertEqual(double(None), 1)
        self.assertTrue(str(caught.exception))
def test_errors():
    try:
        assert double(None) == 1, "of the code, not of the assertion"
    except TypeError:
        pass
    assert demanding(None) == 0
    (lambda: unittest.TestCase().assertIn(2, [double(1)]))()
"""


async def test_what_the_code_raises_inside_an_assertion_may_be_caught(box: Box) -> None:
    result = await box.run(HONEST)
    assert (result.outcome, result.message) == ("passed", "")
