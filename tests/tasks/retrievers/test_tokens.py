"""Laws of the words of queries and code (`tasks.retrievers._tokens`)."""

import pytest

from tasks.retrievers._tokens import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("readJSONFile_2", ["read", "json", "file", "2"]),
        ("HTTPServer", ["http", "server"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("x1y22", ["x", "1", "y", "22"]),
        ("größe = naïve", ["gr", "öß", "e", "na", "ï", "ve"]),
        ("", []),
    ],
)
def test_identifiers_are_split_at_case_underscore_and_digits(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected
