"""Laws of confirmation: people's word decides, a bad sheet changes nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from infra.errors import SourceError
from infra.store import Database, generated
from tasks.stages.generate.confirm import ConfirmationCounts, confirm, write_waiting
from tests.tasks.inputs.test_sheets import Row, fill
from tests.tasks.stages.generate.world import answer, judged_store


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database, _ = judged_store(tmp_path)
    answers = [answer(0), answer(1), answer(2), answer(2, 1, status="refused")]
    generated.add_answers(database, [(item, ()) for item in answers])
    return database


def sheet_of(database: Database, folder: Path) -> Path:
    sheet = write_waiting(database, "c", folder)
    assert sheet is not None
    return sheet


def states(database: Database) -> list[bool | None]:
    found = generated.load_answers(database, "c")
    return [item.confirmed for item in found if item.status == "verified"]


def by_query(**said: Row) -> Callable[[int, Row], None]:
    """Return a change of the rows whose query ends in that number."""

    def change(number: int, row: Row) -> None:
        row.update(said.get(f"q{row['query'].split()[2]}", {}))

    return change


def test_a_sheet_holds_what_waits_and_its_words_are_kept(
    database: Database, tmp_path: Path
) -> None:
    sheet = sheet_of(database, tmp_path)
    yes = {"annotator": "first", "relevance": "1"}
    no = {"annotator": "first", "relevance": "0", "notes": "it is off by one"}
    fill(sheet, by_query(q0=yes, q1=no))
    assert confirm(database, sheet) == ConfirmationCounts(confirmed=1, refused=1)
    assert set(states(database)) == {True, False, None}
    refused = next(item for item in generated.load_answers(database, "c") if item.notes)
    assert (refused.is_refused, refused.notes) == (True, "it is off by one")
    assert confirm(database, sheet) == ConfirmationCounts(confirmed=1, refused=1), (
        "read twice, held once"
    )
    assert len(states(database)) == 3


def test_a_changed_code_is_a_further_answer_marked_as_edited(
    database: Database, tmp_path: Path
) -> None:
    sheet = sheet_of(database, tmp_path)
    better = "def plus(x):\n    return 1 + x"
    fill(sheet, by_query(q1={"annotator": "first", "relevance": "1", "code": better}))
    assert confirm(database, sheet) == confirm(database, sheet) == ConfirmationCounts(edited=1)
    edited = [item for item in generated.load_answers(database, "c") if item.edited]
    assert [(item.code, item.confirmed, item.origin) for item in edited] == [
        (better, True, "generated:openai/scripted, edited")
    ]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"answer": "7"}, "holds no answer 7"),
        ({"collection": "other"}, "holds no answer"),
        ({"code": "def plus(:"}, "does not parse"),
        ({"code": ""}, "code is empty"),
        ({"query_id": "q9"}, "holds no answer"),
    ],
)
def test_a_sheet_with_one_bad_row_changes_nothing(
    database: Database, tmp_path: Path, said: Row, told: str
) -> None:
    sheet = sheet_of(database, tmp_path)
    yes = {"annotator": "first", "relevance": "1"}
    fill(sheet, by_query(q0=yes, q1=yes, q2={**yes, **said}))
    before = generated.load_answers(database, "c")
    with pytest.raises(SourceError, match=told):
        confirm(database, sheet)
    assert generated.load_answers(database, "c") == before


def test_a_sheet_that_somebody_has_begun_is_never_overwritten(
    database: Database, tmp_path: Path
) -> None:
    sheet = sheet_of(database, tmp_path)
    assert sheet_of(database, tmp_path) == sheet
    fill(sheet, by_query(q0={"notes": "to be looked at"}))
    before = sheet.read_bytes()
    assert sheet_of(database, tmp_path).name == "c-generated-2.csv"
    assert sheet.read_bytes() == before


def test_whoever_judges_an_answer_twice_is_told_the_line(
    database: Database, tmp_path: Path
) -> None:
    sheet = sheet_of(database, tmp_path)
    named = {"annotator": "a", "relevance": "1"}
    query = generated.load_answers(database, "c")[0]
    same = {"query_id": query.query_id, "answer": str(query.ordinal), "code": query.code}
    fill(sheet, lambda _, row: row.update(named | same))
    with pytest.raises(SourceError, match=r"generated.csv:\d+: 'a' votes twice on query"):
        confirm(database, sheet)
    assert states(database) == [None] * 3
