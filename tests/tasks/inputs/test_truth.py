"""Laws of the file of labelled pairs."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.draws import Draw
from infra.errors import SourceError
from tasks.inputs.pairs import read_truth

ITEM: dict[str, Any] = {
    "query": "sort a list",
    "code": "def f(x):\n    return sorted(x)",
    "label": 1,
}


def lines(folder: Path, *items: object) -> Path:
    file = folder / "truth.jsonl"
    file.write_text("".join(f"{json.dumps(item)}\n\n" for item in items), "utf-8")
    return file


def test_pairs_come_with_their_labels_and_what_people_said(tmp_path: Path) -> None:
    people = {"first": 0, "second": None}
    (found,) = read_truth(lines(tmp_path, ITEM | {"labels": people, "note": "unused"}))
    assert (found.pair.query.text, found.label, found.by_people) == ("sort a list", 1, people)
    assert found.key == (found.pair.query.query_id, found.pair.code.code_id)


def test_the_form_that_cosqa_publishes_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "truth.json"
    file.write_text(json.dumps([{"idx": "1", "doc": "q", "code": "def f(): 1", "label": 0}]))
    (found,) = read_truth(file)
    assert (found.pair.query.text, found.label) == ("q", 0)


def test_a_pair_counts_once_and_is_drawn_by_its_texts_wherever_it_stands(tmp_path: Path) -> None:
    file = lines(tmp_path, ITEM, ITEM, ITEM | {"query": "another"})
    assert [item.pair.query.text for item in read_truth(file)] == ["sort a list", "another"]
    items = [ITEM | {"query": f"query {number}"} for number in range(30)]
    drawn = read_truth(lines(tmp_path, *items), Draw(5, seed=1))
    assert [item.key for item in drawn] != [item.key for item in read_truth(file)[:5]]
    assert {item.key for item in drawn} == {
        item.key for item in read_truth(lines(tmp_path, *reversed(items)), Draw(5, seed=1))
    }


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({**ITEM, "label": 2}, ":1: label: Input should be less than or equal to 1"),
        ({"query": "q", "label": 1}, ":1: code: Field required"),
        ({**ITEM, "query": "  "}, ":1: the query is empty"),
        ({**ITEM, "labels": {"first": 7}}, ":1: labels.first: Input should be less than"),
        ("text", ":1: Input should be a valid dictionary"),
    ],
)
def test_a_malformed_item_is_told_with_its_place(
    tmp_path: Path, item: object, problem: str
) -> None:
    with pytest.raises(SourceError, match=problem):
        read_truth(lines(tmp_path, item))


def test_labels_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=":3 contradicts the label"):
        read_truth(lines(tmp_path, ITEM, ITEM | {"label": 0}))


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_truth(tmp_path / "missing")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no pairs"),
        ("[]", "holds no pairs"),
        ("\n{", "broken:2: column 2: Expecting property name"),
        ('{"label": ' + "9" * 5_000 + "}", "broken:1: a number of more than 4,300 digits"),
        ("\n" + '{"a": ' * 100_000, "broken:2: nested too deeply"),
        ("[" * 100_000, "broken: nested too deeply"),
    ],
)
def test_a_file_that_is_no_list_of_pairs_is_told_with_its_line(
    tmp_path: Path, content: str, problem: str
) -> None:
    (tmp_path / "broken").write_text(content)
    with pytest.raises(SourceError, match=problem):
        read_truth(tmp_path / "broken")
