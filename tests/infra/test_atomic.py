"""The laws of files that are written whole or not at all."""

from pathlib import Path

import pytest

from infra.atomic import atomic_write


def test_a_file_appears_with_its_folder_once_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file.txt"
    with atomic_write(file) as partial:
        partial.write_text("whole")
        assert not file.exists()
    assert file.read_text() == "whole"
    assert list(file.parent.iterdir()) == [file]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text("old")
    with pytest.raises(NotADirectoryError):
        half_written(file)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def half_written(file: Path) -> None:
    with atomic_write(file) as partial:
        partial.write_text("half")
        (file / "absent").read_text()
