"""Laws of reading vectors: any order, and all of them in blocks of whole files."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from infra.errors import StoreError
from infra.settings import StoreSettings
from infra.store import Database, open_database, vectors
from infra.store.vectors import (
    StoredVectors,
    VectorFile,
    joint_blocks,
    write_vectors,
)
from tests.fakes.stores import add_file

IDS = [f"c{n:020x}" for n in range(60)]
ROWS = {
    name: np.random.default_rng(seed).normal(size=(60, 4 + seed)).astype(np.float32)
    for seed, name in enumerate(("even", "same", "odd"))
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """Vectors by three encoders: two in files of the same items, one in others."""
    database = open_database(StoreSettings(folder=tmp_path_factory.mktemp("store")))
    shuffled = np.random.default_rng(9).permutation(60)
    for name, rows in ROWS.items():
        order = np.sort(shuffled.reshape(3, 20)) if name == "odd" else np.arange(60).reshape(6, 10)
        for number, part in enumerate(order):
            ids = [IDS[row] for row in part]
            add_file(database, name, "code", f"{name}{number}.arrow", ids, rows[part])
    return database


def located(database: Database, *names: str) -> dict[str, StoredVectors]:
    ids = vectors.ids_of(IDS)
    return {name: StoredVectors(database, name, "code", ids) for name in names}


def test_vectors_are_loaded_across_files_in_the_order_asked_for(database: Database) -> None:
    order = [55, 0, 13, 14, 0]
    asked = vectors.ids_of([IDS[n] for n in order])
    stored = StoredVectors(database, "odd", "code", asked)
    assert np.array_equal(stored.load(), ROWS["odd"][order])
    assert len(StoredVectors(database, "odd", "code", asked[:0]).load()) == 0


def test_an_item_that_was_never_embedded_is_an_error(database: Database) -> None:
    ids = vectors.ids_of(["x", IDS[0], "y"])
    with pytest.raises(StoreError, match=r"x of c has no vector yet.*embeds the 2 texts"):
        StoredVectors(database, "odd", "code", ids).require_all("c")


@pytest.mark.parametrize("names", [("even",), ("even", "same"), ("even", "odd"), ("odd", "same")])
@pytest.mark.parametrize(("least", "most"), [(1, 100), (15, 100), (100, 7)])
def test_blocks_have_each_position_once_whatever_the_files(
    database: Database,
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
        for positions, by_name in joint_blocks(located(database, *names), wanted):
            assert positions.dtype == np.int32
            assert np.all(np.diff(positions) > 0)
            assert list(by_name) == list(names)
            for name, rows in by_name.items():
                assert np.array_equal(rows, ROWS[name][positions])
            seen += positions.tolist()
        assert sorted(seen) == (list(range(60)) if wanted is None else wanted.tolist())


def test_files_of_the_same_items_are_each_read_once_and_not_copied(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Counter[str] = Counter()

    class Counted(VectorFile):
        def __init__(self, file: Path) -> None:
            opened[file.name] += 1
            super().__init__(file)

    both = located(database, "even", "same")
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
    database = open_database(StoreSettings(folder=tmp_path))
    for number, part in enumerate((slice(0, 20), slice(20, 40))):
        name = f"{number}.arrow"
        add_file(database, "key", "code", name, IDS[part], ROWS["even"][part])
    opened = StoredVectors(database, "key", "code", vectors.ids_of(IDS[:40]))
    rows = np.ones((items, dimension), np.float32)
    write_vectors(database.settings.vectors / "1.arrow", IDS[20 : 20 + items], rows)
    with pytest.raises(StoreError, match=r"1\.arrow has .* instead of 20 of 4.*writes it anew"):
        opened.load(np.arange(40, dtype=np.int32))
