"""Laws of text files."""

import os
from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.files.text import printable, read_text, state_of

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
