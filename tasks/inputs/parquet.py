"""Parquet files that came from elsewhere: an error of any reader names the file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infra.errors import PublishError

# What Arrow, pydantic and the parsers of JSON texts in columns raise for a file that is not such a
# table; Arrow's own errors of damaged pages are OSError.
_UNREADABLE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError,
               RecursionError)  # fmt: skip


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Turn the error of what reads a file inside the ``with`` into one that names the file.

    Raises:
        PublishError: The file is no table, or not the one that belongs there.
    """
    try:
        yield
    except _UNREADABLE as error:
        [problem, *_] = str(error).splitlines() or [""]
        raise PublishError(
            f"{file} cannot be read ({type(error).__name__}: {problem[:200]}): publish again"
        ) from error


def read_table(file: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a Parquet file's columns, all if not given.

    Raises:
        PublishError: The file is no Parquet, or lacks a column.
    """
    with readable(file):
        table = pq.read_table(file, columns=list(columns) if columns else None)
        table.validate(full=True)
        return table.select(columns) if columns else table
