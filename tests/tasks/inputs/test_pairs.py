"""Laws of queries and of pairs, in the files that people write of them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SourceError
from infra.records import Query
from infra.subsets import ALL, Draw
from tasks.benchmarks import write_benchmark
from tasks.inputs.formats import read_query_texts
from tasks.inputs.pairs import EMPTY_QUERY, REPEATED, TruePair, read_queries, read_truth
from tests.fakes.benchmarks import QUERIES, people_benchmark
from tests.tasks.sources.examples import write_lines


def test_queries_come_from_lines_once_each_and_in_their_order(tmp_path: Path) -> None:
    rows = [{"query": "b  b"}, {"text": "a"}, {"query": "b b", "id": "7"}]
    found = read_query_texts(write_lines(tmp_path / "asked.jsonl", *rows))
    assert (found.name, found.texts, found.left_out) == ("asked", ("b b", "a"), {REPEATED: 1})
    other = read_query_texts(write_lines(tmp_path / "other.jsonl", *rows[1:]))
    assert other.fingerprint != found.fingerprint


def test_an_export_gives_all_its_queries_with_a_match_or_without(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    found = read_query_texts(tmp_path / "b")
    assert set(found.texts) == {query.text for query in QUERIES}
    assert found.name == "toy-people"


@pytest.mark.parametrize("form", ["file", "folder", "array"])
def test_pairs_give_their_queries_whatever_their_label(tmp_path: Path, form: str) -> None:
    rows = [{"doc": "a", "code": "x", "label": 0}, {"doc": "b", "code": "y", "label": 1}]
    file = write_lines(tmp_path / "pairs.jsonl", *rows)
    if form == "array":
        file.write_text(json.dumps(rows, indent=2))
    found = read_query_texts(tmp_path if form == "folder" else file)
    assert found.texts == ("a", "b")


def test_functions_without_documentation_are_no_queries(tmp_path: Path) -> None:
    rows = [{"docstring": text, "code": "x"} for text in ("Add.", "")]
    found = read_query_texts(write_lines(tmp_path / "f.jsonl", *rows))
    assert (found.texts, found.left_out) == (("Add.",), {EMPTY_QUERY: 1})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "q.jsonl holds no queries"),
        ('{"docstring": "", "code": "x"}', "q.jsonl holds no queries"),
    ],
)
def test_what_holds_no_queries_is_told(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(content)
    with pytest.raises(SourceError, match=message):
        read_query_texts(tmp_path / "q.jsonl")


def test_a_pipe_is_refused_since_its_first_lines_would_be_lost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "q.jsonl")
    with pytest.raises(SourceError, match=r"q.jsonl is a pipe or a device.* into a file"):
        read_query_texts(tmp_path / "q.jsonl")


ITEM: dict[str, Any] = {"query": "sort a list", "code": "def f(x):\n    return x", "label": 1}


def truth(folder: Path, *items: object, draw: Draw = ALL) -> tuple[TruePair, ...]:
    return read_truth(write_lines(folder / "truth.jsonl", *items), draw)


def test_pairs_come_with_their_labels_and_what_people_said(tmp_path: Path) -> None:
    people = {"first": 0, "second": None}
    (found,) = truth(tmp_path, ITEM | {"labels": people, "note": "unused"})
    assert (found.pair.query.text, found.label, found.by_people) == ("sort a list", 1, people)
    assert found.key == (found.pair.query.query_id, found.pair.code.code_id)


def test_the_form_that_cosqa_publishes_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "truth.json"
    file.write_text(json.dumps([{"idx": "1", "doc": "q", "code": "def f(): 1", "label": 0}]))
    (found,) = read_truth(file)
    assert (found.pair.query.text, found.label) == ("q", 0)


def test_a_pair_counts_once_and_is_drawn_by_its_texts_wherever_it_stands(tmp_path: Path) -> None:
    once = truth(tmp_path, ITEM, ITEM, ITEM | {"query": "another"})
    assert [item.pair.query.text for item in once] == ["sort a list", "another"]
    items = [ITEM | {"query": f"query {number}"} for number in range(30)]
    drawn = {item.key for item in truth(tmp_path, *items, draw=Draw(5, seed=1))}
    assert drawn != {item.key for item in truth(tmp_path, *items)[:5]}
    assert drawn == {item.key for item in truth(tmp_path, *items[::-1], draw=Draw(5, seed=1))}


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
        truth(tmp_path, item)


def test_labels_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=":2 contradicts the label"):
        truth(tmp_path, ITEM, ITEM | {"label": 0})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no pairs"),
        ("[]", "holds no pairs"),
        ("\n{", "broken:2: column 2: Expecting property name"),
    ],
)
def test_a_file_that_is_no_list_of_pairs_is_told_with_its_line(
    tmp_path: Path, content: str, problem: str
) -> None:
    (tmp_path / "broken").write_text(content)
    with pytest.raises(SourceError, match=problem):
        read_truth(tmp_path / "broken")


def test_queries_come_in_their_order_with_id_and_line(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"query": " a  b "}\r\n\n{"text": "c", "id": "2"}')
    assert read_queries(file) == [
        (None, Query.of("a b", "asked.jsonl:1")),
        ("2", Query.of("c", "asked.jsonl:3")),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"query": "a"}\n{"query": "b', r"asked.jsonl:2: column 11: Unterminated string"),
        (b'{"query": "a"}\nb\n', r"asked.jsonl:2: column 1: Expecting value"),
        (b'{"query": "a"}\n{"query": "\xe4"}', r"asked.jsonl:2: byte 0xe4 .*iconv -f CP1252"),
        ('{"query": "a"}'.encode("utf-16"), r"asked.jsonl:1: byte 0xff is not UTF-8.*-f UTF-16"),
        (b'{"query": "a"}\n{"query": " \\n"}', r"asked.jsonl:2: the query is empty"),
        (b'{"query": ""}', r"asked.jsonl:1: the query is empty: write one or delete the line"),
        (b'{"text": ""}', r"asked.jsonl:1: the query is empty: write one or delete the line"),
        (b'{"question": "a"}', r"asked.jsonl:1: .*question: Extra.*keys are query, text, id"),
        (b'{"query": 7}', r"asked.jsonl:1: query: Input should be a valid string"),
        (b'{"query": "a", "id": 7}', r"asked.jsonl:1: id: Input should be a valid string"),
        (b'{"query": "a", "text": "a"}', r'asked.jsonl:1: .*either "query" or "text"'),
        (b'["a"]', r"asked.jsonl:1: one object a line is expected, no array"),
        (b'{"query": "a"}\n["a"]', r"asked.jsonl:2: .*valid dictionary"),
        (b'\n[\n{"query": "a"}\n]', r"asked.jsonl:2: one object a line is expected, no array"),
        (b"query,id\na,1\n", r"asked.jsonl:1: lines of JSON .*, or a .txt file with a query a"),
        (
            b'{"query": "a", "id": "1"}\n{"query": "b", "id": "1"}',
            r"asked.jsonl:2: id '1' is taken already by asked.jsonl:1",
        ),
        (b"\n", r"asked.jsonl holds no queries"),
    ],
)
def test_a_bad_line_is_named_with_the_way_out(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "asked.jsonl").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        read_queries(tmp_path / "asked.jsonl")


@pytest.mark.parametrize(
    "text", ['[{"query": "a"}]', '[\n{"query": "a"}\n]', '["a", "b"]', '["a",\n"b"]', "[" * 9999]
)
def test_a_json_array_is_no_text_file_of_queries_whatever_its_name(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "asked.txt"
    file.write_text(text)
    with pytest.raises(SourceError, match=r"asked.txt:1: one object a line is expected, no array"):
        read_queries(file)


@pytest.mark.parametrize(
    "text",
    ["[python] parse a date", '["a", "b"] to a comma separated string', "[{key: 1}] to dict"],
)
def test_a_query_may_begin_with_a_bracket(tmp_path: Path, text: str) -> None:
    (tmp_path / "asked.txt").write_text(f"{text}\n")
    assert [query.text for _, query in read_queries(tmp_path / "asked.txt")] == [text]


@given(st.lists(st.text(min_size=1).filter(lambda text: bool(text.strip())), min_size=1))
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    lines_file = tmp_path_factory.mktemp("lines") / "asked.jsonl"
    write_lines(lines_file, *({"query": text} for text in texts))
    assert [query.text for _, query in read_queries(lines_file)] == [
        Query.of(t).text for t in texts
    ]
