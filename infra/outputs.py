"""Files that a command writes for its user: all of them or none."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infra.atomic import atomic_write
from infra.disk import OTHER_OUTPUT, space_on


def write_outputs(folder: Path, files: Mapping[str, str | pa.Table]) -> None:
    """Write texts, and tables as Parquet, into a folder, in the place of older ones.

    Args:
        folder: Is made where it lacks; other files in it stay.
        files: Name → content.

    Raises:
        DiskFullError: The disk is full; all older files are as they were.
    """
    with space_on(folder, OTHER_OUTPUT), ExitStack() as written:
        for name, content in files.items():
            partial = written.enter_context(atomic_write(folder / name))
            if isinstance(content, str):
                partial.write_text(content, encoding="utf-8")
            else:
                pq.write_table(content, partial)
