"""Laws of JSON Lines files that people write."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SourceError
from infra.records import Query
from tasks.files.json_lines import read_queries
from tests.tasks.sources.examples import write_lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "asked.jsonl"


def test_queries_come_in_their_order_with_id_and_line(file: Path) -> None:
    file.write_text('{"query": " a  b "}\n\n{"text": "c", "id": "2"}')
    assert read_queries(file) == [
        (None, Query.of("a b", "asked.jsonl:1")),
        ("2", Query.of("c", "asked.jsonl:3")),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_line(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf{"query": "a"}\r\n')
    assert [query.text for _, query in read_queries(file)] == ["a"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"query": "a"}\n{"query": "b', r"asked.jsonl:2: column 11: Unterminated string"),
        (b'{"query": "a"}\nb\n', r"asked.jsonl:2: column 1: Expecting value"),
        (b'{"query": "a"}\n{"query": "\xe4"}', r"asked.jsonl:2: byte 0xe4 is not UTF-8.*iconv"),
        (b'{"query": "a"}\n{"query": " \\n"}', r"asked.jsonl:2: the query is empty"),
        (b'{"query": ""}', r"asked.jsonl:1: query: String should have at least 1"),
        (b'{"question": "a"}', r"asked.jsonl:1: .*question: Extra.*keys are query, text, id"),
        (b'{"query": 7}', r"asked.jsonl:1: query: Input should be a valid string"),
        (b'{"query": "a", "id": 7}', r"asked.jsonl:1: id: Input should be a valid string"),
        (b'{"query": "a", "text": "a"}', r'asked.jsonl:1: .*either "query" or "text"'),
        (b'["a"]', r"asked.jsonl:1: .*valid dictionary"),
        (b'{"query": "\\ud800"}', r"asked.jsonl:1: half of a surrogate pair"),
        (b'{"query": ' + b"9" * 5_000 + b"}", r"asked.jsonl:1: a number of more than 4,300 digits"),
        (b"[" * 100_000, r"asked.jsonl:1: nested too deeply"),
        (
            b'{"query": "a", "id": "1"}\n{"query": "b", "id": "1"}',
            r"asked.jsonl:2: id '1' is taken already by asked.jsonl:1",
        ),
        (b"\n", r"asked.jsonl holds no queries"),
    ],
)
def test_a_bad_line_is_named_with_the_way_out(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        read_queries(file)


def test_a_missing_file_is_a_source_error(file: Path) -> None:
    with pytest.raises(SourceError, match=r"asked.jsonl cannot be read: No such file"):
        read_queries(file)


@given(st.lists(st.text(min_size=1).filter(lambda text: bool(text.strip())), min_size=1))
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    file = tmp_path_factory.mktemp("lines") / "asked.jsonl"
    write_lines(file, *({"query": text} for text in texts))
    assert [query.text for _, query in read_queries(file)] == [Query.of(t).text for t in texts]
