"""Laws of text files."""

import gzip
import os
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.files.text import printable, read_text, read_text_lines, state_of

ODD = os.fsdecode(b"b\xff.txt")


def test_a_name_that_is_not_utf_8_is_escaped() -> None:
    assert printable(Path(ODD)) == "b\\udcff.txt"
    assert printable("größe.txt") == "größe.txt"


def test_the_state_of_a_file_with_such_a_name_has_a_digest(tmp_path: Path) -> None:
    (tmp_path / ODD).write_text("a")
    assert state_of([tmp_path / ODD])


def test_errors_name_such_a_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"b.udcff.txt cannot be read"):
        read_text(tmp_path / ODD)
    with pytest.raises(SourceError, match=r"b.udcff.txt cannot be read"):
        state_of([tmp_path / ODD])
    (tmp_path / ODD).write_bytes(b"a\n\xe4")
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
    monkeypatch.setattr("tasks.files.text._LONGEST_LINE", 1_000)
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(b"a\n" * 1_000_000))
    with pytest.raises(SourceError, match=r"a.jsonl.gz:\d+: .* 100 times as long uncompressed"):
        list(read_text_lines(file))
    text = "".join(f"{number} is {number * 7919}\n" for number in range(10_000))
    file.write_bytes(gzip.compress(text.encode()))
    assert len(list(read_text_lines(file))) == 10_000


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_line_that_would_fill_the_memory_is_refused_with_its_number(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.files.text._LONGEST_LINE", 1_000)
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
