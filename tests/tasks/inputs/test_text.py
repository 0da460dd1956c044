"""Laws of the readers of text, of its lines and of tables.

Covers `lines`, `text`.
"""

import gzip
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import SourceError
from infra.languages import languages
from tasks.corpus.functions import read_source
from tasks.inputs.formats.beir import read_beir_qrels
from tasks.inputs.lines import decode_json
from tasks.inputs.pairs import read_queries, read_truth
from tasks.inputs.pickles import pickled_items, pickled_pairs
from tasks.inputs.tables import read_header, read_xml_rows
from tasks.inputs.text import printable, read_text, read_text_lines, state_of
from tasks.inputs.trec import read_run


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("{", None, "file:1: column 2: "),
        ('[1,\n"a', None, "file:2: column 1: Unterminated string"),
        ("{", 7, "file:7: column 2: "),
        ("[" * 100_000, None, "file: nested too deeply"),
        ('{"a":' * 100_000, 7, "file:7: nested too deeply"),
        ("[1,\n\n-" + "1" * 4_301 + "]", None, "file:3: a number of more than 4,300 digits"),
        ("1" * 5_000, 7, "file:7: a number of more than 4,300 digits"),
        (r'{"\ud800": 1}', 7, "file:7: half of a surrogate pair"),
        (r'["\udc00"]', None, "file: half of a surrogate pair"),
        ("", None, "file:1: column 1: Expecting value"),
    ],
)
def test_what_is_no_json_is_an_error_with_its_place(
    text: str, line: int | None, problem: str
) -> None:
    with pytest.raises(SourceError, match=re.escape(problem)):
        decode_json(text, "file", line)


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_what_was_encoded_is_decoded(value: object) -> None:
    assert decode_json(json.dumps(value), "file") == value


def _exhausted(read: Callable[[Path], Iterator[object]]) -> Callable[[Path], object]:
    return lambda file: list(read(file))


READERS = {
    "text": read_text,
    "lines": _exhausted(read_text_lines),
    "run": read_run,
    "beir": read_beir_qrels,
    "header": read_header,
    "queries": read_queries,
    "truth": read_truth,
    "xml": _exhausted(partial(read_xml_rows, table="posts")),
    "items": _exhausted(pickled_items),
    "pairs": _exhausted(pickled_pairs),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_a_folder_and_a_device_are_no_files(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "none", Path("a\0b")):
        with pytest.raises(SourceError, match="cannot be read"):
            READERS[name](path)


def test_a_pipe_among_python_files_is_unreadable(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "module.py")
    with pytest.raises(OSError, match="no file"):
        read_source(tmp_path / "module.py", languages.get("python")())


ODD = os.fsdecode(b"b\xff.txt")


def test_a_name_that_is_not_utf_8_is_escaped() -> None:
    assert printable(Path(ODD)) == "b\\udcff.txt"
    assert printable("größe.txt") == "größe.txt"


def test_errors_name_such_a_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"b.udcff.txt cannot be read"):
        read_text(tmp_path / ODD)
    with pytest.raises(SourceError, match=r"b.udcff.txt cannot be read"):
        state_of([tmp_path / ODD])
    (tmp_path / ODD).write_bytes(b"a\n\xe4")
    assert state_of([tmp_path / ODD])
    with pytest.raises(SourceError, match=r"b.udcff.txt:2: byte 0xe4 is not UTF-8"):
        read_text(tmp_path / ODD)


def test_the_state_changes_with_the_size_and_the_time_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("a")
    before = state_of([file])
    assert state_of([file]) == before
    os.utime(file, ns=(0, 0))
    assert state_of([file]) != before


def test_a_gzip_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.inputs.text._LONGEST_LINE", 1_000)
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(b"a\n" * 1_000_000))
    with pytest.raises(SourceError, match=r"a.jsonl.gz:\d+: .* 100 times as long uncompressed"):
        list(read_text_lines(file))
    text = "".join(f"{number} is {number * 7919}\n" for number in range(10_000))
    file.write_bytes(gzip.compress(text.encode()))
    assert len(list(read_text_lines(file))) == 10_000


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.csv.gz", "lines.jsonl"])
@pytest.mark.parametrize("kind", ["xlsx", "ods", "xls"])
def test_a_workbook_is_told_whatever_its_name(tmp_path: Path, name: str, kind: str) -> None:
    content, file = io.BytesIO(), tmp_path / name
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("mimetype" if kind == "ods" else "[Content_Types].xml", "application")
    workbook = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" if kind == "xls" else content.getvalue()
    file.write_bytes(gzip.compress(workbook) if name.endswith("gz") else workbook)
    told = rf"{name} is a workbook .* save it as CSV in UTF-8"
    with pytest.raises(SourceError, match=told):
        list(read_text_lines(file))
    if not name.endswith("gz"):
        with pytest.raises(SourceError, match=told):
            read_header(file)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_line_that_would_fill_the_memory_is_refused_with_its_number(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.inputs.text._LONGEST_LINE", 1_000)
    file, write = tmp_path / name, gzip.compress if name.endswith("gz") else bytes
    longest = os.urandom(499).hex()
    file.write_bytes(write(f"one\n{longest}\nthree".encode()))
    assert list(read_text_lines(file)) == [(1, "one"), (2, longest), (3, "three")]
    file.write_bytes(write(f"one\n{longest}xy\nthree".encode()))
    with pytest.raises(SourceError, match=rf"{name}:2: a line of more than 1,000 bytes"):
        list(read_text_lines(file))


def test_a_text_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    file.touch()
    os.truncate(file, 2**29 + 1)  # a file with a hole, which takes no room
    with pytest.raises(SourceError, match=r"large.json has 536,870,913 bytes, more than the 536"):
        read_text(file)
    os.truncate(file, 3)
    assert read_text(file) == "\0\0\0"


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]', r'{"a": 1, "\u0061": 2}']
)
def test_a_key_that_is_there_twice_has_no_reading(text: str) -> None:
    with pytest.raises(SourceError, match="file:7: an object has the key 'a' twice"):
        decode_json(text, "file", 7)
    several = f'[{{"a": "}}{{\\""}},\n{{"b": {{}}}},\n\n{text},\n{text}]'
    with pytest.raises(SourceError, match="file:4: an object has the key 'a' twice"):
        decode_json(several, "file")


def test_arrows_streams_decompress_and_give_no_lines(tmp_path: Path) -> None:
    """Why lines are read by Python's own gzip: to be tried again with a new pyarrow."""
    file = tmp_path / "a.txt.gz"
    file.write_bytes(gzip.compress(b"one\ntwo\n"))
    stream = pa.input_stream(file)
    with pytest.raises(io.UnsupportedOperation):
        stream.readline()
    assert stream.read() == b"one\ntwo\n"
    assert list(read_text_lines(file)) == [(1, "one"), (2, "two")]
