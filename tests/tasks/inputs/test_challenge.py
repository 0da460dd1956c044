"""Laws of the published files of CodeSearchNet's challenge (`tasks.benchmarks.sheets`)."""

from pathlib import Path

from tasks.inputs.challenge import Grade, is_right, read_grades
from tests.fakes.studies import csn_annotations


def test_grades_keep_their_order_and_their_notes(tmp_path: Path) -> None:
    file = csn_annotations(tmp_path)
    file.write_text(file.read_text().replace("Sort,u/a,1,", 'Sort,u/a,1,"sorts, but a copy"'))
    grades = read_grades(file)["python"]["sort"]
    assert grades == {"u/a": [Grade(3, ""), Grade(1, "sorts, but a copy")], "u/b": [Grade(0, "")]}
    assert {url: is_right(given) for url, given in grades.items()} == {"u/a": True, "u/b": False}
