"""Values between a program and code under test in separate processes."""

import collections
import datetime as dt
import decimal
import json
import math
import pathlib
import uuid
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.inside.values import Graph, NotPlainError, Reader

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    st.complex_numbers(allow_nan=False), st.decimals(allow_nan=False), st.dates(), st.datetimes(),
    st.timedeltas(), st.times(), st.uuids(), st.fractions(),
)  # fmt: skip
HASHABLE = SCALARS.filter(lambda value: not isinstance(value, float) or not math.isnan(value))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(HASHABLE, inner),
        st.sets(HASHABLE), st.frozensets(HASHABLE), st.lists(inner).map(collections.deque),
    ),
    max_leaves=20,
)  # fmt: skip


def nothing(_value: object) -> None:
    """Stand for no other value."""


def refused(node: list[Any]) -> object:
    """Refuse any other node."""
    raise ValueError(node)


def sent(value: object) -> Any:
    """Return a value after its way to the other process."""
    graph = Graph([], nothing)
    place = graph.add(value)
    nodes = json.loads(json.dumps(graph.nodes))
    return Reader(nodes, [], refused).value(json.loads(json.dumps(place)))


def answered(arguments: list[Any], work: Callable[..., object]) -> Any:
    """Return what a function gives in the other process; its changes reach the arguments."""
    graph = Graph([], nothing)
    places = [graph.add(argument) for argument in arguments]
    there = Reader(json.loads(json.dumps(graph.nodes)), [], refused)
    known = there.objects()
    result = work(*map(there.value, places))
    back = Graph(known, nothing)
    place = back.add(result)
    for item in known:
        back.add(item)
    here = Reader(json.loads(json.dumps(back.nodes)), graph.objects, refused)
    here.objects()
    return here.value(place)


def shown(value: object) -> str:
    """Return a value with all types, its sets in order."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}{sorted(map(shown, value))}"
    if isinstance(value, dict):
        return f"{type(value).__name__}{[(shown(k), shown(v)) for k, v in value.items()]}"
    if isinstance(value, list | tuple | collections.deque):
        return f"{type(value).__name__}{list(map(shown, value))}"
    return f"{type(value).__name__}:{value!r}"


@given(VALUES)
def test_a_value_arrives_as_it_was_sent(value: object) -> None:
    assert shown(sent(value)) == shown(value)


@pytest.mark.parametrize(
    "value",
    [
        math.nan, -0.0, 10**600, -(10**600), "\ud800", b"\0", ..., NotImplemented, range(1, 9, 2),
        slice(1, None), len, open, int, ValueError, bytearray(b"ab"), collections.Counter("abca"),
        collections.OrderedDict(a=1), collections.defaultdict(list, {"a": [1]}),
        pathlib.PurePosixPath("/a/b"), uuid.UUID(int=5), Fraction(1, 3), decimal.Decimal("NaN"),
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        dt.datetime(2026, 1, 1, fold=1),  # noqa: DTZ001 - without a zone
    ],
)  # fmt: skip
def test_a_value_of_a_rarer_type_arrives_too(value: object) -> None:
    assert shown(sent(value)) == shown(value)


def test_arrays_and_their_numbers_arrive() -> None:
    array = np.arange(6, dtype="float32").reshape(2, 3)
    back = sent([array, array[0, 1], np.array(["a", "bc"])])
    assert (back[0] == array).all()
    assert back[0].dtype == array.dtype
    assert type(back[1]) is np.float32
    assert list(back[2]) == ["a", "bc"]


class Own(list[int]):
    """A type that only one process has."""


@pytest.mark.parametrize(
    "value",
    [
        object(), Own(), [Own()], {"a": lambda: 0}, print.__class__, iter([]),
        collections.defaultdict(Own), np.array([object()]),
        dt.datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")),
    ],
)  # fmt: skip
def test_what_is_no_plain_value_is_not_sent(value: object) -> None:
    with pytest.raises(NotPlainError):
        sent(value)


def test_one_object_stays_one_object() -> None:
    inner: list[Any] = [1]
    inner.append(inner)
    first, second = sent([inner, inner])
    assert first is second
    assert first[1] is first


def test_changes_and_identities_come_back() -> None:
    numbers, names, other = [3, 1, 2], {"a": {1}}, bytearray(b"xy")

    def work(numbers: list[int], names: dict[str, set[int]], other: bytearray) -> object:
        numbers.sort()
        names["a"].add(2)
        names["b"] = names["a"]
        del other[0]
        return [numbers, (names, other)]

    result = answered([numbers, names, other], work)
    assert (numbers, names, other) == ([1, 2, 3], {"a": {1, 2}, "b": {1, 2}}, bytearray(b"y"))
    assert result[0] is numbers
    assert result[1][0] is names
    assert names["a"] is names["b"]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 5), st.floats(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)
TAGS = st.sampled_from(
    [
        "list", "dict", "set", "bytearray", "tuple", "frozenset", "known", "changed", "builtin",
        "int", "bytes", "complex", "range", "slice", "Ellipsis", "numpy.ndarray", "numpy.scalar",
        "collections.deque", "collections.defaultdict", "collections.Counter", "decimal.Decimal",
        "datetime.datetime", "os.system", "builtins.eval", "pathlib.Path", "callback", "target",
    ]
)  # fmt: skip
PLAIN = (
    type(None), bool, str, float, int, bytes, complex, range, slice, list, dict, set, bytearray,
    tuple, frozenset, type(...), type(NotImplemented), type, type(len), np.ndarray, np.generic,
    collections.deque, collections.OrderedDict, decimal.Decimal, dt.datetime,
)  # fmt: skip


@given(st.lists(st.builds(lambda tag, parts: [tag, *parts], TAGS, st.lists(JSON, max_size=3))))
def test_whatever_is_sent_only_plain_values_are_made(nodes: list[list[Any]]) -> None:
    known: list[object] = [[1], "text", {"a": 1}]
    reader = Reader(json.loads(json.dumps(nodes)), known, refused)
    for place in range(len(nodes)):
        try:
            value = reader.value([place])
        except Exception:  # noqa: BLE001 - any error refuses the answer
            continue
        assert isinstance(value, PLAIN)
