"""Laws of files: written whole, locked, measured, told apart; and of links out of a folder.

Covers `files`, `machine`, and the digest of the program's text of `identity`.
"""

import errno
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.errors import DiskFullError, SettingsError
from infra.files import (
    atomic_write,
    free_bytes,
    leads_outside,
    locked,
    require_writable,
    space_on,
    write_outputs,
)
from infra.identity import program_digest
from infra.machine import physical_memory, usable_cores
from tests.fakes.small_disk import small_disk


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


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        RuntimeError("Could not write file: No space left on device"),
    ],
)
def test_a_full_disk_is_one_error_with_the_folder_and_the_way_out(
    tmp_path: Path, error: Exception
) -> None:
    folder = tmp_path / "not made yet"
    with (
        pytest.raises(DiskFullError, match=r"not made yet is full .* free.*--output") as caught,
        space_on(tmp_path, "the outer way out"),
        space_on(folder, "give another --output"),
    ):
        raise error
    assert caught.value.__cause__ is error


def test_other_errors_pass_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), space_on(tmp_path, "give another --output"):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_the_room_of_a_folder_that_is_not_made_yet_is_that_of_its_parents_disk(
    tmp_path: Path,
) -> None:
    for disk in small_disk(tmp_path / "disk", 1):
        (disk / "file").touch()
        for folder in (disk, disk / "a" / "b", disk / "file" / "b"):
            assert free_bytes(folder) == shutil.disk_usage(disk).free
    assert free_bytes(Path("/proc/none/b")) == 0


HOLD = """
import sys
from pathlib import Path
from infra.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    input()
"""


def test_a_lock_is_one_process_s_until_that_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "x.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), locked(file, wait=False):
            pass
        other.kill()
        with locked(file):
            pass
    with locked(file, wait=False), pytest.raises(BlockingIOError), locked(file, wait=False):
        pass


def test_who_waits_for_a_lock_is_told_who_holds_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "x.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "held\n"

        def end_once_told(record: logging.LogRecord) -> bool:
            assert other.stdin
            other.stdin.close()  # else this test would wait for good
            return True

        caplog.handler.addFilter(end_once_told)
        with locked(file):
            assert file.read_text().startswith(f"process {os.getpid()} (")
    told = f"waiting for process {other.pid} (-c {file}), which holds {file}"
    assert [record.getMessage() for record in caplog.records] == [told]


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


def test_this_machine_has_a_core_and_memory() -> None:
    assert usable_cores() >= 1
    assert physical_memory() > 10**8


def test_it_differs_with_every_file_of_a_package_but_pages_and_cached_byte_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "made_up_package"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    files = [package / name for name in ("__init__.py", "module.py", "page.jinja")]
    seen = set()
    for content in ("1", "2"):
        for file in files:
            file.write_text(content)
            program_digest.cache_clear()
            seen.add(program_digest(("made_up_package",)))
    assert len(seen) == 2 * len(files)
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "module.cpython.pyc").write_bytes(b"compiled")
    (package / "README.md").write_text("A page.")
    program_digest.cache_clear()
    assert program_digest(("made_up_package",)) in seen
    module = program_digest(("made_up_package.module",))
    files[0].write_text("3")
    program_digest.cache_clear()
    assert program_digest(("made_up_package.module",)) == module
    assert program_digest(("made_up_package.module",), ("pytest",)) != module
    sys.modules.pop("made_up_package")
    sys.modules.pop("made_up_package.module")


LINKS = {
    "inside": ("file", False),
    "up_and_back": ("../folder/file", False),
    "by_a_link_inside": ("inside", False),
    "nowhere_inside": ("gone", False),
    "itself": ("itself", False),
    "outside": ("../other/file", True),
    "nowhere": ("/nowhere/at/all", True),
    "to_a_neighbour_of_a_longer_name": ("../folder-2/file", True),
    "to_the_folder_above": ("..", True),
    "by_a_link_outside": ("outside", True),
}


@pytest.mark.parametrize("is_named_by_a_link", [False, True])
def test_a_link_is_inside_where_it_ends_in_the_folder(
    tmp_path: Path, is_named_by_a_link: bool
) -> None:
    folder = tmp_path / "folder"
    for name in ("folder", "folder-2", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    if is_named_by_a_link:
        (tmp_path / "link").symlink_to(folder)
        folder = tmp_path / "link"
    for name, (target, _) in LINKS.items():
        (folder / name).symlink_to(target)
    found = {name: leads_outside(folder / name, folder) for name in LINKS}
    assert found == {name: outside for name, (_, outside) in LINKS.items()}
    assert leads_outside(folder / "to_the_folder_above" / "other" / "file", folder)
    assert leads_outside(folder / ".." / "other" / "file", folder)
    assert not leads_outside(folder / "file", folder)
    assert not leads_outside(folder, folder)


def test_a_folder_of_the_hubs_cache_has_its_blobs(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "snapshots" / "0123" / "1_Pooling"
    folder.mkdir(parents=True)
    (folder / "blob").symlink_to("../../../blobs/ab")
    (folder / "other").symlink_to("../../../refs/main")
    assert not leads_outside(folder / "blob", folder)
    assert not leads_outside(folder / "blob", folder.parent)
    assert leads_outside(folder / "other", folder)
