"""Laws of queries without labels, in each of the forms that are read."""

import json
import os
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.benchmarks import write_benchmark
from tasks.inputs.formats import read_query_texts
from tasks.inputs.pairs import EMPTY_QUERY, REPEATED
from tests.fakes.benchmarks import QUERIES, people_benchmark


def write(file: Path, *rows: object) -> Path:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def test_queries_come_from_lines_once_each_and_in_their_order(tmp_path: Path) -> None:
    rows = [{"query": "b  b"}, {"text": "a"}, {"query": "b b", "id": "7"}]
    found = read_query_texts(write(tmp_path / "asked.jsonl", *rows))
    assert (found.name, found.texts, found.left_out) == ("asked", ("b b", "a"), {REPEATED: 1})
    other = read_query_texts(write(tmp_path / "other.jsonl", *rows[1:]))
    assert other.fingerprint != found.fingerprint


def test_an_export_gives_all_its_queries_with_a_match_or_without(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    found = read_query_texts(tmp_path / "b")
    assert set(found.texts) == {query.text for query in QUERIES}
    assert found.name == "toy-people"


@pytest.mark.parametrize("form", ["file", "folder", "array"])
def test_pairs_give_their_queries_whatever_their_label(tmp_path: Path, form: str) -> None:
    rows = [{"doc": "a", "code": "x", "label": 0}, {"doc": "b", "code": "y", "label": 1}]
    file = write(tmp_path / "pairs.jsonl", *rows)
    if form == "array":
        file.write_text(json.dumps(rows, indent=2))
    found = read_query_texts(tmp_path if form == "folder" else file)
    assert found.texts == ("a", "b")


def test_functions_without_documentation_are_no_queries(tmp_path: Path) -> None:
    rows = [{"docstring": text, "code": "x"} for text in ("Add.", "")]
    found = read_query_texts(write(tmp_path / "f.jsonl", *rows))
    assert (found.texts, found.left_out) == (("Add.",), {EMPTY_QUERY: 1})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "q.jsonl holds no queries"),
        ('{"query": "a"}\n{"query": " "}', "q.jsonl:2: the query is empty"),
        ('{"query": "a"', "q.jsonl:1: .*no complete JSON"),
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
