"""Laws of sheets for people, and of grades of CodeSearchNet's challenge: what they said comes back.

Covers `challenge`.
"""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SourceError
from infra.identity import QueryId
from tasks.inputs.challenge import Grade, is_right, read_grades
from tasks.inputs.sheets import Answer, inert, is_filled, plain, read_answers, write_answers
from tests.fakes.studies import csn_annotations

CODES = ["def f(x):\n    return x, 1", "@cache\ndef g():\n    return '\"'", "=1+1"]
ANSWERS = [
    Answer(
        collection="c",
        query_id=QueryId(f"q{number}"),
        ordinal=number,
        query=f"-query, {number}",
        code=code,
        model="m",
        evidence="it\nworks",
    )
    for number, code in enumerate(CODES)
]
Row = dict[str, str]


def fill(file: Path, change: Callable[[int, Row], object]) -> None:
    """Let a person change a sheet's rows."""
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        rows = list(reader)
        names = list(reader.fieldnames or ())
    for number, row in enumerate(rows):
        change(number, row)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    file = tmp_path / "new" / "sheet.csv"
    write_answers(ANSWERS, file)
    return file


def test_a_sheet_comes_back_with_what_people_said_and_the_code_unchanged(sheet: Path) -> None:
    assert not is_filled(sheet)
    assert read_answers(sheet) == []
    fill(sheet, lambda n, row: n < 2 and row.update(annotator="first", relevance=str(n), notes="n"))
    assert is_filled(sheet)
    rows = read_answers(sheet)
    assert [(row.query_id, row.ordinal, row.relevance, row.note) for row in rows] == [
        ("q0", 0, 0, "n"), ("q1", 1, 1, "n")
    ]  # fmt: skip
    assert [row.code for row in rows] == CODES[:2]


FORMULAS = (
    "-query, 0", "=1+1", "@cache\ndef g():\n    return '\"'", "+1",
    "x;=HYPERLINK(1)", "a\t=1+1", "a\n=1+1\n@b", 'x;"=1+1"', "x;'=1", "a;=1;+2;-3;@4;＝5",  # noqa: RUF001 - a formula in full width
    "  =1+1", "\u3000\u00a0=1", "' =1", "=1;=1", "a;b\n\t=1", "a,=1", "a; =1", "a;\u00a0\t=1",
    "a;'+1\n'=2",
)  # fmt: skip


@pytest.mark.parametrize("separator", ",;\t")
def test_no_cell_is_a_formula_whatever_separator_a_spreadsheet_takes(
    tmp_path: Path, separator: str
) -> None:
    file = tmp_path / "sheet.csv"
    write_answers([ANSWERS[0].model_copy(update={"query": t, "code": t}) for t in FORMULAS], file)
    assert all(line.startswith('"') for line in file.read_text().split('"\n')[:-1])
    with file.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream, delimiter=separator) for cell in row]
    assert not [cell for cell in cells if cell.lstrip().startswith((*"=+-@＝",))]  # noqa: RUF001 - in full width


@given(st.text(alphabet=" '\"=+-@＝;,\t\r\n\u3000ab", max_size=12))  # noqa: RUF001 - in full width
def test_an_inert_cell_comes_back_exactly(text: str) -> None:
    assert plain(inert(text)) == text


@pytest.mark.parametrize(
    "text", ["'- a text'\ndef f(): pass", "'=x'", "''=x", "'''+ doc'''", "'a'", *FORMULAS]
)
def test_cells_that_begin_like_inert_ones_come_back_too(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sheet.csv"
    named = ANSWERS[0].model_copy(update={"query_id": text, "collection": text, "code": text})
    write_answers([named], file)
    fill(file, lambda _, row: row.update(annotator="first", relevance="1"))
    (row,) = read_answers(file)
    assert (row.query_id, row.collection, row.code) == (text, text, text)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"annotator": "first", "relevance": "2"}, "must be 0 or 1"),
        ({"annotator": "first", "relevance": "yes"}, "must be 0 or 1"),
        ({"relevance": "1"}, "annotator is empty"),
        ({"annotator": "first", "relevance": "1", "answer": "x"}, "is no number"),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused_with_its_line(
    sheet: Path, said: Row, told: str
) -> None:
    fill(sheet, lambda number, row: row.update(said))
    with pytest.raises(SourceError, match=rf"sheet.csv:\d+: .*{told}"):
        read_answers(sheet)


def test_another_file_is_not_taken_for_an_empty_sheet(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    assert is_filled(other)


def test_grades_keep_their_order_and_their_notes(tmp_path: Path) -> None:
    file = csn_annotations(tmp_path)
    file.write_text(file.read_text().replace("Sort,u/a,1,", 'Sort,u/a,1,"sorts, but a copy"'))
    grades = read_grades(file)["python"]["sort"]
    assert grades == {"u/a": [Grade(3, ""), Grade(1, "sorts, but a copy")], "u/b": [Grade(0, "")]}
    assert {url: is_right(given) for url, given in grades.items()} == {"u/a": True, "u/b": False}
