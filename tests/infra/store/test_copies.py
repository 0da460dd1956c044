"""Laws of copies that take a database's place."""

from pathlib import Path

import pytest

from infra.errors import StoreError
from infra.store.copies import replacement


def replace_by_a_copy_in_parts(database: Path) -> None:
    with replacement(database) as new:
        new.write_bytes(b"no table")
        new.with_name(f"{new.name}.wal").write_bytes(b"all tables")


def test_a_copy_that_is_not_whole_without_its_log_takes_no_place(tmp_path: Path) -> None:
    database = tmp_path / "cosqa.duckdb"
    database.write_bytes(b"all rows")
    with pytest.raises(StoreError, match="not written whole"):
        replace_by_a_copy_in_parts(database)
    assert database.read_bytes() == b"all rows"
    assert list(tmp_path.iterdir()) == [database], "nothing is left of the copy"
