"""The law of a command's files: all of them are written or none, and a full disk is told."""

import errno
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.errors import DiskFullError, SettingsError
from infra.outputs import require_writable, write_outputs

TABLE = pa.table({"number": [1, 2]})


def test_files_appear_together_in_the_place_of_older_ones(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    write_outputs(folder, {"page.html": "first", "table.parquet": TABLE})
    write_outputs(folder, {"page.html": "größer", "more.md": ""})
    assert {file.name for file in folder.iterdir()} == {"page.html", "table.parquet", "more.md"}
    assert (folder / "page.html").read_text("utf-8") == "größer"
    assert pq.read_table(folder / "table.parquet") == TABLE


def test_a_disk_that_is_full_at_the_last_file_leaves_all_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_outputs(tmp_path, {"page.html": "old", "table.parquet": TABLE})

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(DiskFullError, match=rf"the disk of {tmp_path} is full.*--output"):
        write_outputs(tmp_path, {"page.html": "new", "added.md": "new", "table.parquet": TABLE})
    assert {file.name for file in tmp_path.iterdir()} == {"page.html", "table.parquet"}
    assert (tmp_path / "page.html").read_text() == "old"


def test_what_cannot_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    require_writable(tmp_path / "new" / "file.json")
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").touch()
    require_writable(tmp_path / "file")
    for path in (tmp_path, tmp_path / "file" / "f", Path("/dev/null"), Path("/proc/f"), "a\0b"):
        with pytest.raises(SettingsError, match="cannot be written"):
            require_writable(Path(path))


def test_a_folder_with_the_name_of_a_file_is_named_and_all_stay_as_they_were(
    tmp_path: Path,
) -> None:
    write_outputs(tmp_path, {"a.html": "old", "z.html": "old"})
    (tmp_path / "report.html" / "own").mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"report\.html is a folder.*move it away"):
        write_outputs(tmp_path, {"a.html": "new", "report.html": "new", "z.html": "new"})
    assert (tmp_path / "report.html" / "own").is_dir()
    assert {(tmp_path / name).read_text() for name in ("a.html", "z.html")} == {"old"}
    assert len(list(tmp_path.iterdir())) == 3
