"""Laws of decoded JSON."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SourceError
from tasks.files.json_text import decode_items, decode_json


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("{", None, "file:1: column 2: "),
        ('[1,\n"a', None, "file:2: column 1: Unterminated string"),
        ("{", 7, "file:7: column 2: "),
        ("[" * 100_000, None, "file: nested too deeply"),
        ('{"a":' * 100_000, 7, "file:7: nested too deeply"),
        ("[1,\n\n-" + "1" * 4_301 + "]", None, "file:3: a number of more than 4,300 digits"),
        ("1" * 5_000, 7, "file:7: a number of more than 4,300 digits"),
        (r'{"\ud800": 1}', 7, "file:7: half of a surrogate pair"),
        (r'["\udc00"]', None, "file: half of a surrogate pair"),
        ("", None, "file:1: column 1: Expecting value"),
    ],
)
def test_what_is_no_json_is_an_error_with_its_place(
    text: str, line: int | None, problem: str
) -> None:
    with pytest.raises(SourceError, match=re.escape(problem)):
        decode_json(text, "file", line)


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_what_was_encoded_is_decoded(value: object) -> None:
    assert decode_json(json.dumps(value), "file") == value


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(), st.lists)), st.booleans())
def test_the_items_of_an_array_are_decoded_one_by_one(items: list[object], indented: bool) -> None:
    text = json.dumps(items, indent=1 if indented else None)
    assert list(decode_items(f" {text}\n", "file")) == items


@pytest.mark.parametrize(
    ("text", "before", "problem"),
    [
        ("[1,\n2", 1, "file:2: column 2: Expecting ',' delimiter"),
        ("[1,\n2 3]", 1, "file:2: column 3: Expecting ',' delimiter"),
        ("[1,\n", 1, "file:2: column 1: Expecting value"),
        ("[1] 2", 0, "file:1: column 3: Expecting ',' delimiter"),
        ('[1, "\\ud800"]', 1, "file: half of a surrogate pair"),
        ("[1,\n-" + "1" * 4_301 + "]", 1, "file:2: a number of more than 4,300 digits"),
    ],
)
def test_a_broken_item_is_an_error_after_those_before_it(
    text: str, before: int, problem: str
) -> None:
    items = decode_items(text, "file")
    assert [next(items) for _ in range(before)] == [1] * before
    with pytest.raises(SourceError, match=re.escape(problem)):
        next(items)
