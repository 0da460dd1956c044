"""Laws of linked files in the folders of sources."""

import shutil
from pathlib import Path

import pytest

from infra.errors import SourceError
from infra.settings import SourceSettings
from tasks.sources import open_source, sources
from tests.tasks.sources.examples import read_whole


@pytest.mark.parametrize("name", [name for name in sources.names() if name != "stdlib-sample"])
def test_a_file_is_taken_from_inside_its_folder_alone(tmp_path: Path, name: str) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    options = sources.get(name).write_example(folder)
    settings = SourceSettings.model_validate({"name": name, **options})
    plain = read_whole(open_source(settings))
    named = {value for value in options.values() if isinstance(value, Path)}
    files = [file for file in folder.rglob("*") if file.is_file() and file not in named]
    assert files
    for number, file in enumerate(files):
        kept, left = folder / f".{number}", other / str(number)
        shutil.move(file, kept)
        file.symlink_to(kept)
        assert read_whole(open_source(settings)) == plain, f"{file} is linked inside"
        shutil.move(kept, left)
        file.unlink()
        file.symlink_to(left)
        with pytest.raises(SourceError, match=r"leads? outside of"):
            read_whole(open_source(settings))
        file.unlink()
        shutil.move(left, file)
