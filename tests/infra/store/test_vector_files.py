"""Laws of the Parquet files that hold vectors."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.collected import Collected
from infra.errors import StoreError
from infra.records import Code, SourceInfo
from infra.settings import StoreSettings
from infra.store import Database, corpus, open_database, vectors
from infra.store.vector_files import StoredVectors, read_vectors, write_vectors

CODES = tuple(Code.of(f"def f{n}(x):\n    return x + {n}") for n in range(6))
IDS = [code.code_id for code in CODES]
ROWS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = open_database(StoreSettings(folder=tmp_path))
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    corpus.replace_collections(database, "print", {"c": Collected(info=info, codes=CODES)}, "c")
    for name, part in (("a.parquet", slice(0, 4)), ("b.parquet", slice(4, 6))):
        write_vectors(database.settings.vectors / name, IDS[part], ROWS[part])
        vectors.record_file(database, "key", "code", name, IDS[part])
    return database


def test_vectors_come_back_bit_for_bit(tmp_path: Path) -> None:
    write_vectors(tmp_path / "x.parquet", IDS, ROWS)
    ids, rows = read_vectors(tmp_path / "x.parquet")
    assert ids == IDS
    assert np.array_equal(rows, ROWS)


def test_a_file_is_smaller_than_its_numbers_alone(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(512, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    write_vectors(tmp_path / "x.parquet", [f"c{n:020x}" for n in range(512)], rows)
    assert (tmp_path / "x.parquet").stat().st_size < rows.nbytes


@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_files_that_were_written_in_other_ways_are_read(
    tmp_path: Path, compression: str, *, use_dictionary: bool
) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.reshape(-1)), ROWS.shape[1])
    pq.write_table(
        pa.table({"item_id": IDS, "vector": column}),
        tmp_path / "old.parquet",
        compression=compression,
        use_dictionary=use_dictionary,
    )
    ids, rows = read_vectors(tmp_path / "old.parquet")
    assert ids == IDS
    assert np.array_equal(rows, ROWS)


def test_vectors_are_loaded_across_files_in_the_order_asked_for(database: Database) -> None:
    order = [5, 0, 3, 4]
    stored = StoredVectors(database, "c", "key", "code")
    assert np.array_equal(stored.load([IDS[n] for n in order]), ROWS[order])


def test_an_item_that_was_never_embedded_is_an_error(database: Database) -> None:
    with pytest.raises(StoreError, match="no vector yet; run `cosqa collect`"):
        StoredVectors(database, "c", "another key", "code").load(IDS[:1])


def test_a_damaged_file_is_an_error_that_names_it(database: Database) -> None:
    (database.settings.vectors / "a.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(StoreError, match=r"a\.parquet.*writes it anew"):
        StoredVectors(database, "c", "key", "code").load(IDS)


def test_a_write_that_is_cut_short_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(_table: object, where: Path, **_options: object) -> None:
        where.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("pyarrow.parquet.write_table", torn)
    with pytest.raises(OSError, match="disk full"):
        write_vectors(tmp_path / "x.parquet", IDS, ROWS)
    assert not (tmp_path / "x.parquet").exists()
