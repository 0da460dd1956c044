"""Laws of the files that hold vectors."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infra.errors import DiskFullError, StoreError
from infra.store.vectors import VectorFile, write_vectors
from infra.summaries import NO_EFFORT, EncodingEffort
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import read_vectors

IDS = [f"c{n:020x}" for n in range(6)]
ROWS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def test_vectors_come_back_bit_for_bit_and_are_not_copied(tmp_path: Path) -> None:
    write_vectors(tmp_path / "x.arrow", IDS, ROWS)
    before = pa.total_allocated_bytes()
    opened = VectorFile(tmp_path / "x.arrow")
    assert np.array_equal(opened.rows, ROWS)
    assert pa.total_allocated_bytes() == before
    assert not opened.rows.flags.writeable
    assert opened.ids.to_pylist() == IDS
    assert opened.rows.shape == (6, 4)


def test_a_file_says_what_its_vectors_took_where_that_is_known(tmp_path: Path) -> None:
    effort = EncodingEffort(texts=6, seconds=1.5, tokens=60, machines=frozenset({"a", "b"}))
    write_vectors(tmp_path / "x.arrow", IDS, ROWS, effort)
    opened = VectorFile(tmp_path / "x.arrow")
    assert (opened.effort, opened.dimension) == (effort, 4)
    assert np.array_equal(opened.rows, ROWS)
    write_vectors(tmp_path / "y.arrow", IDS, ROWS)
    assert VectorFile(tmp_path / "y.arrow").effort == NO_EFFORT


@pytest.mark.parametrize("content", [b"", b"PAR1 but not really", b"ARROW1\0\0 and no more", None])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        write_vectors(tmp_path / "a.arrow", IDS, ROWS)
        content = (tmp_path / "a.arrow").read_bytes()[:-20]
    (tmp_path / "a.arrow").write_bytes(content)
    for column in ("ids", "rows", "effort"):
        with pytest.raises(StoreError, match=r"a\.arrow.*writes it anew"):
            getattr(VectorFile(tmp_path / "a.arrow"), column)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("item_id", pa.array(range(6))),
        ("item_id", pa.array(IDS, pa.large_string())),
        ("vector", pa.array(ROWS.tolist(), pa.list_(pa.float32()))),
        ("vector", pa.array(ROWS.tolist(), pa.list_(pa.float64(), 4))),
    ],
)
def test_a_column_of_another_type_is_an_error_that_names_it(
    tmp_path: Path, column: str, values: pa.Array
) -> None:
    rows = pa.array(ROWS.tolist(), pa.list_(pa.float32(), 4))
    table = pa.table({"item_id": pa.array(IDS), "vector": rows} | {column: values})
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as sink:
        sink.write_table(table)
    with pytest.raises(StoreError, match=rf"a\.arrow.*{column} is of type.*writes it anew"):
        read_vectors(tmp_path / "a.arrow")


def test_more_files_are_known_than_a_process_may_open(tmp_path: Path) -> None:
    write_vectors(tmp_path / "x.arrow", IDS, ROWS)
    before = len(list(Path("/proc/self/fd").iterdir()))
    lists = [VectorFile(tmp_path / "x.arrow").ids for _ in range(3)]
    assert len(list(Path("/proc/self/fd").iterdir())) <= before, lists


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    yield from small_disk(tmp_path / "disk", megabytes=1)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_is_an_error_that_names_the_folder_and_leaves_the_file_as_it_was(
    disk: Path,
) -> None:
    write_vectors(disk / "x.arrow", IDS, ROWS)
    with pytest.raises(DiskFullError, match=rf"the disk of {disk} is full.*--store"):
        write_vectors(disk / "x.arrow", ["c"] * 5_000, np.ones((5_000, 100), np.float32))
    assert read_vectors(disk / "x.arrow")[0] == IDS
    assert [path.name for path in disk.iterdir()] == ["x.arrow"]
