"""Laws of full disks: whoever writes, the user gets one error that names the folder."""

import errno
import shutil
from pathlib import Path

import pytest

from infra.disk import free_bytes, space_on
from infra.errors import DiskFullError
from tests.fakes.small_disk import small_disk


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
