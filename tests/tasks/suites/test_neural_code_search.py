"""The score sheet's figures on small files of its form, worked out by hand."""

import json
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.corpus.neural_code_search import read_questions
from tasks.suites.neural_code_search import read_score_sheet, score_sheet

SHEET = """No.,StackOverflow ID,NCS FRank,UNIF_android FRank
1,11,NF,1
2,22,5,6
3,11,2,50
4,33,1,NF
"""
QUESTIONS = [
    {"stackoverflow_id": 11, "question": "Hide, the keyboard", "answer": "x", "examples": [1, 2]},
    {"stackoverflow_id": "22", "question": "b", "answer": "y", "answer_author": "somebody"},
    {"stackoverflow_id": "33", "question": "c", "answer": "z"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "score_sheet.csv").write_text(SHEET)
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS))
    return tmp_path


def test_figures_are_those_worked_out_by_hand(folder: Path) -> None:
    questions = read_questions(folder / "questions.json")
    found = score_sheet(read_score_sheet(folder / "score_sheet.csv", questions))
    assert list(found) == ["NCS", "UNIF_android"]
    assert found["NCS"].answered == {1: 1, 5: 3, 10: 3}
    assert found["NCS"].reciprocal_rank == pytest.approx((1 / 5 + 1 / 2 + 1) / 4)
    assert found["UNIF_android"].answered == {1: 1, 5: 1, 10: 2}
    assert found["UNIF_android"].reciprocal_rank == pytest.approx((1 + 1 / 6 + 1 / 50) / 4)
    assert found["NCS"].questions == 4


def test_questions_keep_what_is_asked_and_answered(folder: Path) -> None:
    first = read_questions(folder / "questions.json")[0]
    assert (first.stackoverflow_id, first.question, first.examples) == (
        "11",
        "Hide, the keyboard",
        (1, 2),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SHEET.replace("NCS FRank", "NCS Rank"), r"sheet.csv:1: the header has 'NCS Rank'"),
        ("No.,StackOverflow ID\n1,2\n", r"sheet.csv:1: no column is named '<method> FRank'"),
        (SHEET.replace(",5,6", ",51,6"), r"sheet.csv:3: NCS FRank is '51': it must be 1 to 50, or"),
        (SHEET.replace(",5,6", ",0,6"), r"sheet.csv:3: NCS FRank is '0'"),
        (SHEET.replace(",5,6", ",,6"), r"sheet.csv:3: NCS FRank is ''"),
        (SHEET.replace("3,11", "4,11"), r"sheet.csv:4: row number '4', expected 3"),
        (SHEET.replace(",5,6", f",{'5' * 5_000},6"), r"sheet.csv:3: NCS FRank is '555"),
        (SHEET.replace("33", "34"), r"sheet.csv:5: no question has the id '34'"),
    ],
)
def test_a_bad_sheet_is_an_error_with_its_line(folder: Path, content: str, message: str) -> None:
    (folder / "score_sheet.csv").write_text(content)
    with pytest.raises(SourceError, match=message):
        read_score_sheet(folder / "score_sheet.csv", read_questions(folder / "questions.json"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[\n{]", r"questions.json:2: column 2: Expecting property name"),
        ("[\n" + "9" * 5_000 + "]", r"questions.json:2: a number of more than 4,300 digits"),
        ("[" * 100_000, r"questions.json: nested too deeply"),
        ("", r"questions.json holds no questions"),
        ("[]", r"questions.json holds no questions"),
        ('[{"stackoverflow_id": "1", "question": "q"}]', r"item 1: answer: Field required"),
    ],
)
def test_bad_questions_are_an_error(folder: Path, content: str, message: str) -> None:
    (folder / "questions.json").write_text(content)
    with pytest.raises(SourceError, match=message):
        read_questions(folder / "questions.json")
