"""Files that a command writes for its user: all of them or none."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa
import pyarrow.parquet as pq

from infra.errors import SettingsError
from infra.files import OTHER_OUTPUT, atomic_write, space_on


def require_writable(file: Path) -> None:
    """Refuse a file that cannot be written later, when what it is to hold was paid for.

    Its folder is made where it lacks, and written to.

    Raises:
        SettingsError: It cannot be written, or is something else than a file.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name[:100]}.", suffix=".partial"):
            problem = "it is no file" if file.exists() and not file.is_file() else ""
    except (OSError, ValueError) as error:
        problem = str(error)
    if problem:
        raise SettingsError(f"--output {file} cannot be written ({problem}): choose another file")


def write_outputs(folder: Path, files: Mapping[str, str | pa.Table]) -> None:
    """Write texts, and tables as Parquet, into a folder, in the place of older ones.

    Args:
        folder: Is made where it lacks; other files in it stay.
        files: Name → content.

    Raises:
        DiskFullError: The disk is full; all older files are as they were.
        SettingsError: A folder has the name of a file; likewise.
    """
    if taken := [folder / name for name in files if (folder / name).is_dir()]:
        raise SettingsError(f"{taken[0]} is a folder, where a file is to be written: move it away")
    with space_on(folder, OTHER_OUTPUT), ExitStack() as written:
        for name, content in files.items():
            partial = written.enter_context(atomic_write(folder / name))
            if isinstance(content, str):
                partial.write_text(content, encoding="utf-8")
            else:
                pq.write_table(content, partial)
