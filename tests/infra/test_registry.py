"""Laws of the registry."""

import pytest

from infra.errors import UnknownNameError
from infra.registry import Registry


@pytest.fixture
def shapes() -> Registry[type]:
    made: Registry[type] = Registry("shape", "tests.infra")
    made.register("round")(int)
    made.register("flat")(str)
    return made


def test_an_unknown_name_lists_those_that_exist(shapes: Registry[type]) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown shape 'square'.*one of flat, round"):
        shapes.get("square")


def test_names_come_sorted(shapes: Registry[type]) -> None:
    assert list(shapes) == ["flat", "round"]
    assert shapes.get("round") is int


def test_two_entries_cannot_share_a_name(shapes: Registry[type]) -> None:
    with pytest.raises(ValueError, match="two shapes"):
        shapes.register("round")(float)
