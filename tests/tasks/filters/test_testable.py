"""CoSQA+'s rule, case by case, with the names of special methods (`tasks.filters.special_methods`).

Covers `tasks.filters.special_methods`, `tasks.filters.testable_without_self`.
"""

import pytest

from infra.languages import languages
from tasks.corpus.functions import parse_function
from tasks.filters import SPECIAL
from tasks.filters.special_methods import SpecialMethods
from tasks.filters.testable import (
    NO_PARAMETER,
    NO_RESULT,
    ONLY_SELF,
    HasInputAndResult,
    InputAndResultRule,
)
from tasks.filters.testable_without_self import HasInputBesideSelf


def reason(source: str) -> str | None:
    return HasInputAndResult().reason_to_drop(parse_function(source, "here"))


@pytest.mark.parametrize(
    "body",
    [
        "return x",
        "return 0",
        "return (None,)",
        "if x:\n  return\n else:\n  return x",
        "for _ in x:\n  with x:\n   try:\n    pass\n   except E:\n    return x",
        "while x:\n  pass\n else:\n  return 1",
        "match x:\n  case 1:\n   return x",
    ],
)
def test_a_return_with_a_value_at_any_depth_is_enough(body: str) -> None:
    assert reason(f"def f(x):\n {body}") is None


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "return",
        "return None",
        "yield x",
        "def g():\n  return x",
        "async def g():\n  return x",
        "class C:\n  def g(self):\n   return x",
        "return_ = lambda: x",
    ],
)
def test_returns_of_others_and_returns_of_nothing_do_not_count(body: str) -> None:
    assert reason(f"def f(x):\n {body}") == NO_RESULT


def test_a_coroutine_is_judged_like_a_function() -> None:
    assert reason("async def f(x):\n return x") is None


@pytest.mark.parametrize(
    "source",
    [
        "def f(): return 1",
        "class C:\n def f(self): return 1",
        "class C:\n @classmethod\n def f(cls): return 1",
    ],
)
def test_the_object_that_a_method_is_bound_to_is_no_input(source: str) -> None:
    assert reason(source) == NO_PARAMETER


def test_a_function_that_does_not_parse_is_dropped_for_that() -> None:
    assert reason("def f(x):\n print x") == "function does not parse: Python 2 statement"


@pytest.mark.parametrize(
    ("source", "counted", "not_counted"),
    [
        ("def __len__(self):\n return 1", None, ONLY_SELF),
        ("def make(cls):\n return cls()", None, ONLY_SELF),
        ("def double(self, x):\n return x", None, None),
        ("def f(self):\n pass", NO_RESULT, NO_RESULT),
        ("def f(me):\n return me", None, None),
        ("class C:\n def f(self): return 1", NO_PARAMETER, NO_PARAMETER),
    ],
)
def test_self_counts_where_a_method_stands_alone_unless_the_other_reading_is_chosen(
    source: str, counted: str | None, not_counted: str | None
) -> None:
    function = parse_function(source, "here")
    assert HasInputAndResult().reason_to_drop(function) == counted
    assert HasInputBesideSelf().reason_to_drop(function) == not_counted


@pytest.mark.parametrize("rule", [HasInputAndResult(), HasInputBesideSelf()])
def test_one_pass_counts_both_readings(rule: InputAndResultRule) -> None:
    for header in ("f(self): return 1", "f(x): return x", "f(): pass", "f(x): print x"):
        rule.reason_to_drop(parse_function(f"def {header}", "here"))
    [note] = rule.notes
    assert "of 4: self counted 2 kept, 2 dropped; self not counted 1 kept, 3 dropped" in note


def test_special_methods_are_dropped_by_a_filter_of_their_own() -> None:
    rule = SpecialMethods()
    assert rule.reason_to_drop(parse_function("def __len__(self):\n return 1", "")) == SPECIAL
    assert rule.reason_to_drop(parse_function("def f(x):\n return 1", "")) is None
    assert rule.reason_to_drop(parse_function("def __len__(self): print 1", "")) is None


@pytest.mark.parametrize(
    ("name", "special"),
    [
        ("__init__", True),
        ("C.__eq__", True),
        ("__private", False),
        ("trailing__", False),
        ("f", False),
    ],
)
def test_special_names_have_two_underscores_on_both_sides(name: str, special: bool) -> None:
    assert languages.get("python")().is_special(name) is special
