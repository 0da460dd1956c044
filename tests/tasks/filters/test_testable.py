"""CoSQA+'s rule, case by case."""

import ast

import pytest

from tasks.filters.testable import NO_PARAMETER, NO_RESULT, SPECIAL, is_special, why_untestable


def reason(source: str, *parameters: str) -> str | None:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return why_untestable(node, parameters)


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
    assert reason(f"def f(x):\n {body}", "x") is None


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
    assert reason(f"def f(x):\n {body}", "x") == NO_RESULT


def test_a_function_without_input_is_dropped() -> None:
    assert reason("def f():\n return 1") == NO_PARAMETER


def test_a_coroutine_is_judged_like_a_function() -> None:
    assert reason("async def f(x):\n return x", "x") is None


def test_a_special_method_is_dropped_first() -> None:
    assert reason("def __len__(self):\n return 1") == SPECIAL


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
    assert is_special(name) is special
