"""Test programs, good and bad, each with the one gate that must stop it."""

from typing import NamedTuple

from agents.gates import Gate

CLAMP = '''def clamp(value, low, high):
    """Keep a value between two bounds."""
    if value < low:
        return low
    if value > high:
        return high
    return value
'''
COUNT_WORDS = """def count_words(text):
    counts = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts
"""
SCALED = """def scaled(self, number):
    return number * self.factor + 1
"""
WORDS = """def words(text):
    return list(set(text.split()))
"""
DOUBLED = """import numpy as np
def doubled(numbers):
    return np.asarray(numbers) * 2
"""
PAIRS = """def pairs(items):
    return [(one, two) for one, two in zip(items, items[1:])]
"""
EVENS = """def evens(numbers):
    for number in numbers:
        if number % 2 == 0:
            yield number
"""
SPLIT = """def split(numbers):
    return [n for n in numbers if n < 0], [n for n in numbers if n >= 0]
"""
HOME = """import os
def config_path(name):
    return os.path.join(os.environ["HOME"], "." + name)
"""
TINY = """def name_of(self):
    return self.owner.name
"""
PEEKING = """import sys
def double(number):
    if 14 in sys._getframe(1).f_code.co_consts:
        return number * 2
    return number + 1
"""


class Case(NamedTuple):
    """A program for a piece of code; ``gate`` is None where it is a valid oracle."""

    name: str
    gate: Gate | None
    program: str
    code: str = CLAMP


_ALONE = Gate.LEAVES_TARGET_ALONE
_LETS = Gate.LETS_ASSERTIONS_FAIL
_DEMANDS = Gate.DEMANDS_VALUES
_OUTSIDE = Gate.NEEDS_NOTHING_OUTSIDE
_END = Gate.RUNS_TO_ITS_END
_CALLS = Gate.CALLS_TARGET
_ASSERTS = Gate.EXECUTES_ASSERTS
_REPEATS = Gate.REPEATS
_KILLS = Gate.KILLS_MUTANTS
_APART = Gate.PASSES_APART
_SPELLING = Gate.IGNORES_SPELLING

CASES = (
    # good ones
    Case("plain asserts in test functions", None, """
from target import clamp
def test_inside(): assert clamp(5, 0, 10) == 5
def test_bounds():
    assert clamp(-1, 0, 10) == 0
    assert clamp(11, 0, 10) == 10
"""),
    Case("asserts at the top level", None, """
import target
assert target.clamp(3, 4, 9) == 4
assert target.clamp(30, 4, 9) == 9
"""),
    Case("a unittest case", None, """
import unittest
from target import clamp
class TestClamp(unittest.TestCase):
    def test_low(self): self.assertEqual(clamp(-5, 1, 2), 1)
    def test_high(self): self.assertEqual(clamp(5, 1, 2), 2)
    def test_between(self): self.assertTrue(clamp(1.5, 1, 2) == 1.5)
"""),
    Case("an alias of the import", None, """
from target import clamp as subject
assert [subject(n, 2, 4) for n in (1, 2, 3, 4, 5)] == [2, 2, 3, 4, 4]
"""),
    Case("a name bound to the target's own", None, """
import target
clamp = target.clamp
assert [clamp(n, 2, 4) for n in (1, 3, 5)] == [2, 3, 4]
"""),
    Case("an expected exception", None, """
from target import clamp
assert clamp(0, 1, 2) == 1 and clamp(7, 1, 2) == 2
try:
    clamp("a", 1, 2)
    assert False, "text has no place between numbers"
except TypeError:
    pass
"""),
    Case("a stand-in for self, with a method of the target's name", None, """
from target import scaled
class Camera:
    factor = 3
    def scaled(self, number): raise NotImplementedError
def test_scaled():
    assert scaled(Camera(), 2) == 7
    assert scaled(Camera(), 0) == 1
""", SCALED),
    Case("a dummy self from the target", None, """
from target import DummySelf, scaled
def test_scaled():
    assert DummySelf(factor=3).scaled(2) == 7
    assert scaled(DummySelf(factor=-1), 2) == -1
""", SCALED),
    Case("a getter of one line", None, """
from types import SimpleNamespace
from target import DummySelf
owner = SimpleNamespace(name="Ada")
assert DummySelf(owner=owner).name_of() == "Ada"
""", TINY),
    Case("an order that does not matter, compared without it", None, """
from target import words
assert sorted(words("b a b")) == ["a", "b"]
assert set(words("x")) == {"x"}
""", WORDS),
    Case("seeded chance", None, """
import random
from target import clamp
random.seed(4)
for _ in range(20):
    n = random.randint(-9, 9)
    assert clamp(n, -3, 3) == sorted((n, -3, 3))[1]
"""),
    Case("a patched collaborator", None, """
from unittest import mock
from target import config_path
with mock.patch.dict("os.environ", {"HOME": "/home/x"}):
    assert config_path("rc") == "/home/x/.rc"
""", HOME),
    Case("dictionaries of counts", None, """
from target import count_words
def test_counts():
    assert count_words("a B b") == {"a": 1, "b": 2}
    assert count_words("") == {}
""", COUNT_WORDS),
    Case("an assertion that is caught and raised again", None, """
from target import clamp
try:
    assert clamp(9, 1, 2) == 2 and clamp(0, 1, 2) == 1
except AssertionError as error:
    print("clamp fails")
    raise
"""),
    # over-strict: no gate stops it
    Case("over-strict: bounds demanded to be excluded", None, """
from target import clamp
assert clamp(5, 0, 10) == 5
assert clamp(11, 0, 10) < 10
"""),
    # meddling with the code under test
    Case("defines the target itself", _ALONE, """
def clamp(value, low, high): return max(low, min(high, value))
assert clamp(5, 0, 3) == 3
"""),
    Case("imports the target and defines it anew", _ALONE, """
from target import clamp
def clamp(value, low, high): return max(low, min(high, value))
assert clamp(5, 0, 3) == 3
"""),
    Case("defines the target inside a test", _ALONE, """
import target
def test_it():
    def clamp(value, low, high): return high
    assert clamp(5, 0, 3) == 3
"""),
    Case("binds the target's name to a lambda", _ALONE, """
import target
clamp = lambda value, low, high: high
assert clamp(5, 0, 3) == 3
"""),
    Case("imports another function under the target's name", _ALONE, """
import target
from math import fmod as clamp
assert clamp(5, 2) == 1
"""),
    Case("replaces the function in its module", _ALONE, """
import target
target.clamp = lambda value, low, high: high
assert target.clamp(5, 0, 3) == 3
"""),
    Case("replaces it by its module's names", _ALONE, """
import target
vars(target)["clamp"] = lambda value, low, high: high
assert target.clamp(9, 1, 5) == 5
"""),
    Case("replaces it by another name of setattr", _ALONE, """
import target
put = setattr
put(target, "clamp", lambda value, low, high: high)
assert target.clamp(9, 1, 5) == 5
"""),
    Case("swallows assertions by a manager of its own", _KILLS, """
from target import clamp
class Quiet:
    def __enter__(self):
        return self
    def __exit__(self, *raised):
        return True
with Quiet():
    assert clamp(9, 1, 5) == 5
"""),
    Case("replaces it by setattr", _ALONE, """
import target
setattr(target, "clamp", lambda value, low, high: high)
assert target.clamp(5, 0, 3) == 3
"""),
    Case("replaces the method of the dummies", _ALONE, """
from target import DummySelf
DummySelf.scaled = lambda self, number: number * self.factor + 1
assert DummySelf(factor=3).scaled(2) == 7
""", SCALED),
    Case("patches the function", _ALONE, """
from unittest.mock import patch
import target
with patch("target.clamp", return_value=3):
    assert target.clamp(5, 0, 3) == 3
"""),
    Case("patches the object", _ALONE, """
from unittest import mock
import target
with mock.patch.object(target, "clamp", return_value=3):
    assert target.clamp(5, 0, 3) == 3
"""),
    Case("puts a module of its own in the target's place", _ALONE, """
import sys, types
sys.modules["target"] = types.SimpleNamespace(clamp=lambda v, l, h: 3)
from target import clamp
assert clamp(5, 0, 3) == 3
"""),
    Case("never imports the target", _ALONE, """
import math
assert math.floor(2.5) == 2
"""),
    # assertions that cannot fail
    Case("catches AssertionError", _LETS, """
from target import clamp
try:
    assert clamp(5, 0, 3) == 3
except AssertionError:
    print("failed")
"""),
    Case("catches every exception around its tests", _LETS, """
from target import clamp
def test_it(): assert clamp(5, 0, 3) == 3
try:
    test_it()
    print("PASSED")
except Exception as error:
    print("FAILED", error)
"""),
    Case("catches with a bare except", _LETS, """
from target import clamp
def test_it():
    try:
        assert clamp(5, 0, 3) == 3
    except: pass
"""),
    Case("catches a tuple of exceptions", _LETS, """
from target import clamp
try:
    assert clamp(5, 0, 3) == 3
except (TypeError, AssertionError):
    pass
"""),
    Case("suppresses assertions", _LETS, """
import contextlib
from target import clamp
with contextlib.suppress(AssertionError):
    assert clamp(5, 0, 3) == 3
"""),
    # assertions that demand nothing
    Case("no assertion at all, prints PASSED", _DEMANDS, """
from target import clamp
print("PASSED" if clamp(5, 0, 3) == 3 else "FAILED")
"""),
    Case("asserts True", _DEMANDS, """
from target import clamp
clamp(5, 0, 3)
assert True
"""),
    Case("a tautology of the result", _DEMANDS, """
from target import clamp
result = clamp(5, 0, 3)
assert result == result
"""),
    Case("a tautology by or", _DEMANDS, """
from target import clamp
assert clamp(5, 0, 3) == 3 or True
"""),
    Case("isinstance only", _DEMANDS, """
from target import clamp
assert isinstance(clamp(5, 0, 3), int)
"""),
    Case("type comparison only", _DEMANDS, """
from target import count_words
assert type(count_words("a b")) is dict
""", COUNT_WORDS),
    Case("not None only", _DEMANDS, """
from target import clamp
def test_it(): assert clamp(5, 0, 3) is not None
"""),
    Case("not None only, by unittest", _DEMANDS, """
import unittest
from target import clamp
class TestClamp(unittest.TestCase):
    def test_it(self):
        self.assertIsNotNone(clamp(5, 0, 3))
        self.assertIsInstance(clamp(5, 0, 3), int)
"""),
    Case("any length", _DEMANDS, """
from target import words
assert len(words("a b")) >= 0
""", WORDS),
    Case("callable only", _DEMANDS, """
import target
assert callable(target.clamp)
"""),
    # what another run would answer differently
    Case("depends on the clock", _OUTSIDE, """
import time
from target import clamp
assert clamp(int(time.time()), 0, 3) == 3
"""),
    Case("depends on today", _OUTSIDE, """
from datetime import datetime
from target import clamp
assert clamp(datetime.now().year, 0, 3) == 3
"""),
    Case("depends on chance", _OUTSIDE, """
from random import randint
from target import clamp
assert clamp(randint(4, 9), 0, 3) == 3
"""),
    Case("asks the network", _OUTSIDE, """
import urllib.request
from target import clamp
assert clamp(len(urllib.request.urlopen("http://example.org").read()), 0, 3) == 3
"""),
    Case("depends on the order of a set", _REPEATS, """
from target import words
assert words("a b c d e f g h")[:2] == ["d", "f"]
""", WORDS),
    # what judges the text of the code
    Case("reads the source by inspect", _SPELLING, """
import inspect
from target import clamp
clamp(1, 2, 3)
assert "# the lower" in inspect.getsource(clamp)
"""),
    Case("reads the source by a name of its own for inspect", _SPELLING, """
import inspect as eye
from target import clamp
clamp(1, 2, 3)
assert len(eye.getsourcelines(clamp)[0]) == 5
"""),
    Case("imports what reads the source", _SPELLING, """
from inspect import getsource as look
from target import clamp
clamp(1, 2, 3)
assert "if" in look(clamp)
"""),
    Case("imports by a call what reads the source", _SPELLING, """
from target import clamp
clamp(1, 2, 3)
assert __import__("linecache").getline("target.py", 1) == "def clamp(value, low, high):"
"""),
    Case("compares instructions", _SPELLING, """
from target import clamp
clamp(1, 2, 3)
assert clamp.__code__.co_firstlineno == 1
"""),
    Case("asks the loader by a text", _ALONE, """
import target
target.clamp(1, 2, 3)
assert "clamp" in vars(target)["__loader__"].get_source("target")
"""),
    Case("compares variables by a name put together", _SPELLING, """
import target
target.count_words("a")
code = getattr(target.count_words, "__co" + "de__")
assert code.co_varnames == ("text", "counts", "word")
""", COUNT_WORDS),
    Case("compares instructions by a name put together", _SPELLING, """
from target import clamp
clamp(1, 2, 3)
assert getattr(clamp, "__co" + "de__").co_nlocals == 3
"""),
    Case("takes the line of an error", _SPELLING, """
from target import clamp
try:
    clamp(None, 1, 2)
    line = 0
except TypeError as error:
    line = error.__traceback__.tb_next.tb_lineno
assert line == 3 and clamp(1, 2, 3) == 2
"""),
    # what does not run, or runs past its purpose
    Case("no Python", Gate.READABLE, "from target import clamp\nassert clamp(5, 0 3) == 3\n"),
    Case("exit 0 before the assertion", _END, """
import sys
from target import clamp
clamp(5, 0, 3)
sys.exit(0)
assert clamp(5, 0, 3) == 3
"""),
    Case("leaves by os._exit", _END, """
import os
from target import clamp
os._exit(0) if clamp(5, 0, 3) == 3 else None
assert clamp(5, 0, 3) == 3
"""),
    Case("raises before its assertion", _END, """
from target import clamp
assert clamp(missing, 0, 3) == 3
"""),
    Case("runs for ever", _END, """
from target import clamp
while clamp(5, 0, 3): pass
assert clamp(5, 0, 3) == 3
"""),
    Case("a test function that is never called", _ASSERTS, """
from target import clamp
clamp(5, 0, 3)
def check(): assert clamp(5, 0, 3) == 3
"""),
    Case("assertions in a loop over nothing", _ASSERTS, """
from target import clamp
clamp(5, 0, 3)
for expected in []:
    assert clamp(5, 0, 3) == expected
"""),
    Case("asserts about its own values, without a call", _CALLS, """
from target import clamp
value = 3
assert value == 3
"""),
    Case("gives a dummy a method of its own", _CALLS, """
from target import DummySelf
assert DummySelf(scaled=lambda number: 7).scaled(2) == 7
""", SCALED),
    Case("expects of a dummy what it was not given", _END, """
from target import DummySelf
assert DummySelf().scaled(2) == 7
""", SCALED),
    Case("asserts what it put in itself", _CALLS, """
import target
expected = {"a": 1}
def test_it(): assert expected["a"] == 1
""", COUNT_WORDS),
    # what a broken version would pass as well
    Case("calls the code and asserts about something else", _KILLS, """
from target import clamp
clamp(5, 0, 3)
value = 3
assert value == 3
"""),
    Case("tests one path only", _KILLS, """
from target import clamp
assert clamp(3, 0, 300) < 301
"""),
    Case("compares the code with itself", _KILLS, """
from target import count_words
assert count_words("a b") == count_words("a b")
""", COUNT_WORDS),
    Case("asks whether anything came back", _KILLS, """
from target import count_words
result = count_words("a b")
assert result
assert len(result) > 0
""", COUNT_WORDS),
    Case("asks whether anything came back of a getter of one line", _KILLS, """
from types import SimpleNamespace
from target import DummySelf
assert DummySelf(owner=SimpleNamespace(name="Ada")).name_of()
""", TINY),
    Case("asserts the keys only", _KILLS, """
from target import count_words
assert list(count_words("1")) == ["1"]
""", COUNT_WORDS),
    Case("is read by the code under test", _APART, """
from target import double
def test_double(): assert double(7) == 14
""", PEEKING),
    # those that hold of nothing at all
    Case("all of an array", _KILLS, """
from target import doubled
assert (doubled([4]) == 8).all()
assert (doubled([0]) == 0).all()
""", DOUBLED),
    Case("the whole of an array", None, """
from target import doubled
assert doubled([4, 5]).tolist() == [8, 10]
assert (doubled([0]) == 0).all()
""", DOUBLED),
    Case("a loop over a list", _KILLS, """
from target import pairs
for one, two in pairs([1, 2, 3]):
    assert two == one + 1
""", PAIRS),
    Case("all of a generator", _KILLS, """
from target import evens
assert all(number % 2 == 0 for number in evens([1, 2, 3, 4]))
assert all(number in (2, 4) for number in evens([1, 2, 3, 4]))
""", EVENS),
    Case("all of two lists", _KILLS, """
from target import split
below, above = split([-1, 2, -3, 4])
assert all(number < 0 for number in below) and set(below) <= {-1, -3}
assert all(number >= 0 for number in above) and set(above) <= {2, 4}
""", SPLIT),
    Case("two lists", None, """
from target import split
assert split([-1, 2, -3, 4]) == ([-1, -3], [2, 4])
""", SPLIT),
    Case("nothing of nothing", None, """
from target import pairs
assert pairs([]) == []
assert pairs([1, 2, 3]) == [(1, 2), (2, 3)]
""", PAIRS),
)  # fmt: skip
