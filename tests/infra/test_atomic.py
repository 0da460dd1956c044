"""The laws of files that are written whole or not at all."""

from contextlib import suppress
from pathlib import Path

import pytest

from infra.atomic import atomic_write, exchange, heal


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


@pytest.mark.parametrize("moment", [1, 2, 3])
@pytest.mark.parametrize("is_one_step", [True, False])
def test_an_exchange_that_is_killed_leaves_the_old_or_the_new_folder_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int, is_one_step: bool
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / folder.name).touch()
    if not is_one_step:  # as where the file system or the system knows no exchange
        monkeypatch.setattr("infra.atomic.ctypes.CDLL", lambda _: None)
    steps: list[Path] = []
    rename = Path.rename

    def killed(path: Path, target: Path) -> Path:
        steps.append(path)
        if len(steps) == moment:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(Path, "rename", killed)
        exchange(one, other)
    heal(one)
    whole = {file.name for file in one.iterdir()}
    assert whole == ({"other"} if is_one_step or moment == 3 else {"one"})
