"""Laws of the values that calls give: which are equal, and that the code has no say in it.

Covers `agents.claims.values`.
"""

import array
import math
from collections import OrderedDict, deque
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agents.claims.values import approx_equal, canonical_strings, relaxed_equal, text_of, to_plain

NAN = float("nan")
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.binary(max_size=8) | st.complex_numbers(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts),
    max_leaves=6,
)  # fmt: skip


def test_what_is_equal_but_for_kind_and_last_digits_is_alike() -> None:
    for one, other in [
        (1e9, 10**9), (1234567890.0, 1234567890), (-0.0, 0), (2.0, 2), (0.1 + 0.2, 0.3),
        (math.cos(math.pi / 2), 0), (0.3 - 0.1 - 0.2, 0), (1 / 3, 0.333333), (NAN, NAN),
        (np.float32(0.1), 0.1), (np.array([0.1, 2], "f4"), [0.1, 2]), (np.int64(3), 3),
        ([1, 0], [True, False]), ({"a": 1.0}, OrderedDict(a=True)), ({2.0: "a"}, {2: "a"}),
        (deque([1, 2]), [1, 2]), (array.array("i", [1]), (1,)), (bytearray(b"x"), b"x"),
        (Decimal("2.50"), 2.5), (Fraction(1, 2), 0.5), (complex(1, 1e-17), 1), ({1, 2.0}, {2, 1}),
        ({"a": 1}.items(), [("a", 1)]), (iter("ab"), ["a", "b"]), (range(3), [0, 1, 2]),
    ]:  # fmt: skip
        first, second = to_plain(one), to_plain(other)
        assert approx_equal([first], [second]), (one, other)
        assert approx_equal([second], [first]), (one, other)


def refilled(*contents: list[int]) -> Iterator[list[int]]:
    """Yield one list for all contents."""
    kept: list[int] = []
    for content in contents:
        kept[:] = content
        yield kept


def test_parts_are_what_a_list_of_them_holds_and_groups_are_read_at_their_turn() -> None:
    assert (
        to_plain(refilled([1], [2], [3]))
        == [[3], [3], [3]]
        == to_plain(list(refilled([1], [2], [3])))
    )
    assert to_plain((part, 1) for part in refilled([1], [2])) == [[[2], 1], [[2], 1]]
    assert to_plain(part.copy() for part in refilled([1], [2])) == [[1], [2]]
    assert to_plain(groupby("aab")) == [["a", ["a", "a"]], ["b", ["b"]]]
    assert to_plain(group for _, group in groupby("aab")) == [["a", "a"], ["b"]]


def test_what_differs_is_not_alike() -> None:
    for one, other in [
        (1, 2), (1, "1"), (1.0, 1.001), (1e-3, 2e-3), (10**30, 10**30 + 1), (10**400, 1e300),
        (NAN, 1), (NAN, float("inf")), (float("inf"), 1e308), (float("inf"), -float("inf")),
        ([1], [1, 2]), ([1, 2], {1, 2}), ({(1, 2)}, {1: 2}), ({}, set()), ([], None), (b"a", "a"),
        (None, False), (None, "None"), ("", 0), ([[1], 2], [1, [2]]), ({"a": 1}, {"a": 2}),
        ("raises ValueError", ("raises", "raises ValueError")),
    ]:  # fmt: skip
        assert not approx_equal(to_plain(one), to_plain(other))
        assert not approx_equal(to_plain(other), to_plain(one))


def test_another_form_is_pairs_for_keys_or_a_path_for_its_name() -> None:
    for one, other in [
        ({"a": 1, "b": 2}, ["a", "b"]), ([("a", 1), ("b", 2)], ["a", "b"]), (["b.c"], ["/a/b.c"]),
        ([("b", 2), ("a", 1)], {"a": 1, "b": 2}), ({"a": ["x/y"]}, {"a": ["y"]}), ("a/b/", "b"),
        ([[1, 2], [3, 4]], [1, 3]), ([{"x/a": 1}], [["a"]]), ({}, []),
    ]:  # fmt: skip
        assert relaxed_equal(to_plain(one), to_plain(other)), (one, other)
        assert relaxed_equal(to_plain(other), to_plain(one)), (one, other)


def test_another_value_is_no_other_form() -> None:
    for one, other in [
        ({"a": 1}, {"a": 2}), ([("a", 1)], [("a", 2)]), ([[1, 2], [3, 4]], [[1, 5], [3, 6]]),
        ({"a": 1}, [("a", 2)]), ([["f", "x"]], [["f", None]]), ({"a": {"b": 1}}, {"a": {"b": 2}}),
        ({"a": 1}, ["b"]), ({"a": 1}, ["a", "b"]), ("x/b", "y/b"), ("1/2", "2"), ("a/", ""),
        ({}, None), (2, 3), ([2], [3]), ({"a"}, ["a"]),
    ]:  # fmt: skip
        assert not relaxed_equal(to_plain(one), to_plain(other)), (one, other)
        assert not relaxed_equal(to_plain(other), to_plain(one)), (one, other)


@given(LITERALS)
def test_a_value_is_alike_itself_and_has_a_text(value: object) -> None:
    assert approx_equal(to_plain(value), to_plain(value))
    assert relaxed_equal(to_plain(value), to_plain(value))
    assert type(text_of(to_plain(value))) is str


def test_an_iterator_without_end_is_read_in_part() -> None:
    assert len(str(to_plain(iter(int, 1)))) == 30_000


def test_no_object_of_the_code_says_whether_it_is_equal() -> None:
    class Agreeing(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            return True

        def __format__(self, form: str) -> str:
            return self

    class Shown:
        def __str__(self) -> str:
            return Agreeing("1")

    class Number(float):
        __hash__ = float.__hash__

        def __eq__(self, other: object) -> bool:
            return True

        def __pos__(self) -> float:
            return 1.0

    for value in (Agreeing("1"), Number(2.5)):
        assert not approx_equal(to_plain(value), to_plain(7))
        assert not approx_equal(to_plain([value]), to_plain(["7"]))
    assert {type(text_of(to_plain(one))) for one in (Shown(), Number(2.5), Agreeing("1"))} == {str}
    parts = to_plain([Number(2.5), Agreeing("1")])
    assert isinstance(parts, list)
    assert [type(part) for part in parts] == [float, str]


def test_no_object_of_the_code_says_what_it_is() -> None:
    """Neither by its class, nor by its class's class."""

    class Lying(type):
        __name__ = "Decimal"
        __mro__ = (float, object)

        def __eq__(cls, other: object) -> bool:
            return True

        __hash__ = type.__hash__

        def __instancecheck__(cls, instance: object) -> bool:
            return True

        def __subclasscheck__(cls, other: type) -> bool:
            return True

    def agreeing(kind: object) -> object:
        same = {"__eq__": lambda self, other: True, "__ne__": lambda self, other: False}
        lie = {"__class__": property(lambda self: kind), "__hash__": lambda self: 7}
        return Lying("Agreeing", (), {**same, **lie, "__float__": lambda self: 7.0})()

    kinds = (bool, int, float, complex, str, bytes, dict, set, list, tuple, map, type(None), type)
    for kind in kinds:
        lie = agreeing(kind)
        for demanded in (7, 7.0, True, "7", b"7", None, [7], {7: 7}, {7}, "object", [], {}):
            assert not approx_equal(to_plain(lie), to_plain(demanded)), (kind, demanded)
            assert not approx_equal(to_plain([lie]), to_plain([demanded])), (kind, demanded)
        assert type(canonical_strings(lie)[0]) is str
