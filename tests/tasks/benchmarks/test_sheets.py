"""Laws of sheets for people: what they said comes back, and how far they agree."""

import csv
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.errors import SourceError
from infra.ids import QueryId
from tasks.benchmarks.sheets import (
    Answer,
    is_filled,
    read_answers,
    read_grades,
    write_answers,
)
from tasks.statistics.people import agreement

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
    assert [(row.query_id, row.ordinal, row.said.relevance, row.said.note) for row in rows] == [
        ("q0", 0, 0, "n"), ("q1", 1, 1, "n")
    ]  # fmt: skip
    assert [row.said.code for row in rows] == CODES[:2]


def test_no_cell_is_a_formula(sheet: Path) -> None:
    with sheet.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize(
    "text", ["'- a text'\ndef f(): pass", "'=x'", "''=x", "'''+ doc'''", "'a'", "-1", "@f"]
)
def test_cells_that_begin_like_inert_ones_come_back_too(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sheet.csv"
    named = ANSWERS[0].model_copy(update={"query_id": text, "collection": text, "code": text})
    write_answers([named], file)
    fill(file, lambda _, row: row.update(annotator="first", relevance="1"))
    (row,) = read_answers(file)
    assert (row.query_id, row.collection, row.said.code) == (text, text, text)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"annotator": "first", "relevance": "2"}, "must be 0 to 1"),
        ({"annotator": "first", "relevance": "yes"}, "must be 0 to 1"),
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


HEADER = "annotator,query,code,relevance,notes\n"
FIRST = HEADER + (
    'first,q1,c1,1,"sure, it does"\nfirst,q1,c2,0,\nfirst,q2,c1,1,\nfirst,q2,c2,,cannot tell\n'
)
SECOND = HEADER + "second,q1,c1,1,\nsecond,q1,c2,0,\nsecond,q2,c1,0,\nsecond,q9,c9,1,\n"


def sheets(folder: Path, *contents: str) -> list[Path]:
    files = [folder / f"sheet{number}.csv" for number in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_text(content)
    return files


def test_agreement_is_that_worked_out_by_hand(tmp_path: Path) -> None:
    found = agreement(read_grades(sheets(tmp_path, FIRST, SECOND)))
    assert found.annotators == ("first", "second")
    assert found.pairs == 3
    (two,) = found.each_two
    assert two.pairs == 3
    assert two.equal == pytest.approx(2 / 3)
    # One disagreement; by chance 3 pairs x (2/3 x 2/3 + 1/3 x 1/3) = 5/3.
    assert two.kappa.mean == pytest.approx(1 - 1 / (5 / 3))
    # Three ones and three zeros: Do = 2/6, De = 2 x 3 x 3 / (6 x 5).
    assert found.nominal == pytest.approx(1 - (2 / 6) / (18 / 30))
    assert found.ordinal == pytest.approx(found.nominal), "two grades have but one order"


def test_kappa_weighs_by_the_scale_where_a_grade_was_never_given(tmp_path: Path) -> None:
    rows = zip((0, 0, 1, 3), (0, 1, 1, 0), strict=True)
    files = [HEADER, HEADER]
    for pair, grades in enumerate(rows):
        for place, grade in enumerate(grades):
            files[place] += f"by{place},q,c{pair},{grade},\n"
    (two,) = agreement(read_grades(sheets(tmp_path, *files), 3), 3).each_two
    # Squares of 1 and 3; by chance (2 x 2 x 1 + 1 x 2 x 1 + 1 x 2 x 9 + 1 x 2 x 4) / 4 = 8.
    assert two.kappa.mean == pytest.approx(1 - (1 + 9) / 8)


def test_annotators_without_a_common_pair_are_not_compared(tmp_path: Path) -> None:
    found = agreement(read_grades(sheets(tmp_path, FIRST, HEADER + "second,q7,c7,1,\n")))
    assert (found.pairs, found.each_two) == (0, ())
    assert math.isnan(found.nominal)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (FIRST.replace("relevance", "label"), r"sheet0.csv:1: the header lacks relevance; has"),
        (
            FIRST.replace("c2,0", "c2,7"),
            r"sheet0.csv:3: relevance '7': it must be 0 to 1, or empty",
        ),
        (FIRST.replace("c2,0", "c2,yes"), r"sheet0.csv:3: relevance 'yes'"),
        (FIRST.replace("q1,c2", "q1,c1"), r"sheet0.csv:3: 'first' grades the pair twice"),
        (FIRST.replace("first,q1,c2", ",q1,c2"), r"sheet0.csv:3: annotator is empty"),
    ],
)
def test_a_bad_sheet_is_an_error_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read_grades(sheets(tmp_path, content))


def test_rows_that_a_spreadsheet_left_empty_are_nobodys(tmp_path: Path) -> None:
    plain = agreement(read_grades(sheets(tmp_path, FIRST, SECOND)))
    padded = [text.replace("\n", "\n,,,,\n") for text in (FIRST, SECOND)]
    assert agreement(read_grades(sheets(tmp_path, *padded))) == plain
    with pytest.raises(SourceError, match=r"sheet0.csv:2: query is empty"):
        read_grades(sheets(tmp_path, f"{HEADER}first,,,,\n"))
