"""Laws of identity: the same content has the same name, whatever its spelling of white space.

Covers `infra.identity` and `infra.records`.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.identity import digest, digest_of, digest_of_set
from infra.records import Code, Query


def test_white_space_does_not_change_a_query() -> None:
    assert Query.of("  sort \t a\nlist ") == Query.of("sort a list")
    assert Query.of("Sort a list").query_id != Query.of("sort a list").query_id


def test_line_ends_and_trailing_white_space_do_not_change_code() -> None:
    assert Code.of("def f(x):  \r\n    return x\r\n\r\n") == Code.of("def f(x):\n    return x")


def test_indentation_changes_code() -> None:
    assert Code.of("if x:\n    y").code_id != Code.of("if x:\n  y").code_id


@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
def test_nothing_is_neither_query_nor_code(text: str) -> None:
    with pytest.raises(ValueError, match="the query is empty"):
        Query.of(text)
    with pytest.raises(ValueError, match="the code is empty"):
        Code.of(text)


@given(st.lists(st.text(), min_size=1, max_size=4), st.lists(st.text(), min_size=1, max_size=4))
def test_a_digest_respects_the_borders_of_its_parts(a: list[str], b: list[str]) -> None:
    assert (digest(*a) == digest(*b)) == (a == b)


@given(st.lists(st.text(max_size=5)))
def test_the_digest_of_a_set_ignores_order_and_repetition(items: list[str]) -> None:
    assert digest_of_set(items) == digest_of_set([*reversed(items), *items])


def test_the_digest_of_a_value_ignores_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
