"""Laws of CSV rows; what suites refuse in theirs is in tests/tasks/suites."""

from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.files.csv_rows import read_header, read_rows, whole_number


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_rows_come_with_their_first_line_and_quoted_line_ends(file: Path) -> None:
    file.write_text('a, b\n1,"x\ny"\n\n 2 ,z\n')
    assert [(row.place, dict(row.cells)) for row in read_rows(file, ["a", "b"])] == [
        (f"{file}:2", {"a": "1", "b": "x\ny"}),
        (f"{file}:5", {"a": "2", "b": "z"}),
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a" * 200_000, r"rows.csv:1: field larger than field limit"),
        ("a,b\n1," + "2" * 200_000, r"rows.csv:2: field larger than field limit"),
        ('"a', r"rows.csv:1: unexpected end of data"),
        ("", r"rows.csv:1: the header lacks a, b"),
    ],
)
def test_a_malformed_file_is_an_error_with_its_line(file: Path, content: str, problem: str) -> None:
    file.write_text(content)
    with pytest.raises(SourceError, match=problem):
        list(read_rows(file, ["a", "b"]))


def test_a_header_alone_is_read(file: Path) -> None:
    file.write_text(" a ,b\n")
    assert read_header(file) == ["a", "b"]
    assert list(read_rows(file, ["a", "b"])) == []


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("0", 0), ("3", 3), ("50", 50), ("007", 7), ("000", 0),
        ("51", None), ("", None), ("-1", None), ("1.0", None), ("\u0663", None),
        ("9" * 5_000, None),
    ],
)  # fmt: skip
def test_a_whole_number_lies_between_its_bounds(cell: str, number: int | None) -> None:
    assert whole_number(cell, 0, 50) == number
