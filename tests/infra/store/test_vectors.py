"""Laws of vectors: of their files, of the record of these, and of reading them in any order.

Files are known, and say themselves whose vectors they have; blocks are whole files.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infra.collected import Collected
from infra.errors import DiskFullError, StoreError
from infra.records import Code, Query, SourceInfo
from infra.settings import StoreSettings
from infra.store import Database, corpus, open_database, vectors
from infra.store.vectors import StoredVectors, VectorFile, joint_blocks, write_vectors
from infra.summaries import NO_EFFORT, EncodingEffort
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import add_file, read_vectors, store_like

CODES = tuple(Code.of(f"def f{n}(x):\n    return x + {n}") for n in range(6))
CODE_IDS = sorted(code.code_id for code in CODES)
ROWS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """A store with two overlapping collections, and files with the vectors of five codes."""
    return store_like(_fill_twice, tmp_path)


def _fill_twice(database: Database) -> None:
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    contents = {
        "c": Collected(info=info, codes=CODES[:4], queries=(Query.of("add one"),)),
        "d": Collected(info=info, codes=CODES[2:]),
    }
    corpus.replace_collections(database, "print", contents, "c")
    for name, part in (("b.arrow", slice(0, 4)), ("a.arrow", slice(3, 5))):
        add_file(database, "key", "code", name, CODE_IDS[part], ROWS[part])


def test_items_are_located_in_the_first_file_that_was_recorded(database: Database) -> None:
    asked = [CODE_IDS[4], "unknown", CODE_IDS[3], CODE_IDS[0], CODE_IDS[3]]
    places = vectors.StoredVectors(database, "key", "code", vectors.ids_of(asked))
    found = [
        (places.files[file], row) if file >= 0 else None
        for file, row in zip(places.file.tolist(), places.row.tolist(), strict=True)
    ]
    assert found == [("a.arrow", 1), None, ("b.arrow", 3), ("b.arrow", 0), ("b.arrow", 3)]
    assert places.is_missing.tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(("key", "kind"), [("another", "code"), ("key", "query")])
def test_vectors_are_those_of_one_encoder_and_kind(
    database: Database, key: str, kind: vectors.Kind
) -> None:
    assert vectors.StoredVectors(database, key, kind, vectors.ids_of(CODE_IDS)).is_missing.all()


def test_members_come_once_and_in_ascending_order_with_their_texts(database: Database) -> None:
    ids = vectors.member_ids(database, ["c", "d"], "code")
    assert ids.to_pylist() == CODE_IDS
    texts = vectors.load_texts(database, "code", ids.take([5, 0]))
    text_of = {code.code_id: code.text for code in CODES}
    assert texts == [text_of[CODE_IDS[5]], text_of[CODE_IDS[0]]]
    assert len(vectors.member_ids(database, [], "code")) == 0


def test_the_items_of_a_lost_file_have_no_vector(database: Database) -> None:
    (database.settings.vectors / "b.arrow").unlink()
    assert vectors.lost_files(database, "key", "code") == ["b.arrow"]
    missing = vectors.StoredVectors(database, "key", "code", vectors.ids_of(CODE_IDS)).is_missing
    assert missing.tolist() == [True, True, True, False, False, True]
    vectors.delete_files(database, ["b.arrow"])
    assert vectors.files_of(database, "key", "code") == ["a.arrow"]


IDS = [f"c{n:020x}" for n in range(6)]


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


MANY_IDS = [f"c{n:020x}" for n in range(60)]
ROWS_BY_ENCODER = {
    name: np.random.default_rng(seed).normal(size=(60, 4 + seed)).astype(np.float32)
    for seed, name in enumerate(("even", "same", "odd"))
}


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """Vectors by three encoders: two in files of the same items, one in others."""
    encoded = open_database(StoreSettings(folder=tmp_path_factory.mktemp("store")))
    shuffled = np.random.default_rng(9).permutation(60)
    for name, rows in ROWS_BY_ENCODER.items():
        order = np.sort(shuffled.reshape(3, 20)) if name == "odd" else np.arange(60).reshape(6, 10)
        for number, part in enumerate(order):
            ids = [MANY_IDS[row] for row in part]
            add_file(encoded, name, "code", f"{name}{number}.arrow", ids, rows[part])
    return encoded


def located(encoded: Database, *names: str) -> dict[str, StoredVectors]:
    ids = vectors.ids_of(MANY_IDS)
    return {name: StoredVectors(encoded, name, "code", ids) for name in names}


def test_vectors_are_loaded_across_files_in_the_order_asked_for(encoded: Database) -> None:
    order = [55, 0, 13, 14, 0]
    asked = vectors.ids_of([MANY_IDS[n] for n in order])
    stored = StoredVectors(encoded, "odd", "code", asked)
    assert np.array_equal(stored.load(), ROWS_BY_ENCODER["odd"][order])
    assert len(StoredVectors(encoded, "odd", "code", asked[:0]).load()) == 0


def test_an_item_that_was_never_embedded_is_an_error(encoded: Database) -> None:
    ids = vectors.ids_of(["x", MANY_IDS[0], "y"])
    with pytest.raises(StoreError, match=r"x of c has no vector yet.*embeds the 2 texts"):
        StoredVectors(encoded, "odd", "code", ids).require_all("c")


@pytest.mark.parametrize("names", [("even",), ("even", "same"), ("even", "odd"), ("odd", "same")])
@pytest.mark.parametrize(("least", "most"), [(1, 100), (15, 100), (100, 7)])
def test_blocks_have_each_position_once_whatever_the_files(
    encoded: Database,
    names: tuple[str, ...],
    least: int,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectors, "LEAST_ROWS", least)
    monkeypatch.setattr(vectors, "MOST_ROWS", most)
    monkeypatch.setattr(vectors, "_OPEN_FILES", 1)
    for wanted in (None, np.array([3, 17, 41, 59], np.int32), np.array([], np.int32)):
        seen: list[int] = []
        for positions, by_name in joint_blocks(located(encoded, *names), wanted):
            assert positions.dtype == np.int32
            assert np.all(np.diff(positions) > 0)
            assert list(by_name) == list(names)
            for name, rows in by_name.items():
                assert np.array_equal(rows, ROWS_BY_ENCODER[name][positions])
            seen += positions.tolist()
        assert sorted(seen) == (list(range(60)) if wanted is None else wanted.tolist())


def test_files_of_the_same_items_are_each_read_once_and_not_copied(
    encoded: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Counter[str] = Counter()

    class Counted(VectorFile):
        def __init__(self, file: Path) -> None:
            opened[file.name] += 1
            super().__init__(file)

    both = located(encoded, "even", "same")
    monkeypatch.setattr(vectors, "LEAST_ROWS", 10)
    monkeypatch.setattr(vectors, "_OPEN_FILES", 1)
    monkeypatch.setattr(vectors, "VectorFile", Counted)
    for _, by_name in joint_blocks(both):
        assert not any(rows.flags.writeable for rows in by_name.values())
    assert set(opened.values()) == {1}
    assert len(opened) == 12


@pytest.mark.parametrize(("items", "dimension"), [(10, 4), (20, 5)])
def test_a_file_that_was_replaced_since_its_items_were_located_is_an_error(
    tmp_path: Path, items: int, dimension: int
) -> None:
    encoded = open_database(StoreSettings(folder=tmp_path))
    for number, part in enumerate((slice(0, 20), slice(20, 40))):
        name = f"{number}.arrow"
        add_file(encoded, "key", "code", name, MANY_IDS[part], ROWS_BY_ENCODER["even"][part])
    opened = StoredVectors(encoded, "key", "code", vectors.ids_of(MANY_IDS[:40]))
    rows = np.ones((items, dimension), np.float32)
    write_vectors(encoded.settings.vectors / "1.arrow", MANY_IDS[20 : 20 + items], rows)
    with pytest.raises(StoreError, match=r"1\.arrow has .* instead of 20 of 4.*writes it anew"):
        opened.load(np.arange(40, dtype=np.int32))
