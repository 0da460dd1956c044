"""Laws of the words of queries and code (`infra.words`)."""

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.words import _WORD, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("readJSONFile_2", ["read", "json", "file", "2"]),
        ("HTTPServer", ["http", "server"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("x1y22", ["x", "1", "y", "22"]),
        ("größe = naïve", ["größe", "naïve"]),
        ("ÉcoleNormale ÉCOLE", ["école", "normale", "école"]),
        ("the\u0301orie", ["th\xe9orie"]),
        ("HTTPX\u030aerver", ["http", "x\u030aerver"]),
        ("读取json文件2", ["读取", "json", "文件", "2"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
    ],
)
def test_identifiers_are_split_at_case_underscore_and_digits(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected


@given(st.text())
def test_both_spellings_of_a_letter_are_one(text: str) -> None:
    assert words(normalize("NFD", text)) == words(normalize("NFC", text))


@given(st.text(st.characters(codec="ascii")))
def test_the_quick_way_gives_the_words_of_the_other(text: str) -> None:
    assert words(text) == [word.lower() for word in _WORD.findall(text)]
