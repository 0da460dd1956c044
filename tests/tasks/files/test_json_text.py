"""Laws of decoded JSON."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SourceError
from tasks.files.json_text import decode_json


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
