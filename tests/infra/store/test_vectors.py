"""Laws of the record of vectors: files are known, and say themselves whose vectors they have."""

from pathlib import Path

import numpy as np
import pytest

from infra.collected import Collected
from infra.records import Code, Query, SourceInfo
from infra.store import Database, corpus, vectors
from tests.fakes.stores import add_file, store_like

CODES = tuple(Code.of(f"def f{n}(x):\n    return x + {n}") for n in range(6))
IDS = sorted(code.code_id for code in CODES)
ROWS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """A store with two overlapping collections, and files with the vectors of five codes."""
    return store_like(_fill, tmp_path)


def _fill(database: Database) -> None:
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    contents = {
        "c": Collected(info=info, codes=CODES[:4], queries=(Query.of("add one"),)),
        "d": Collected(info=info, codes=CODES[2:]),
    }
    corpus.replace_collections(database, "print", contents, "c")
    for name, part in (("b.arrow", slice(0, 4)), ("a.arrow", slice(3, 5))):
        add_file(database, "key", "code", name, IDS[part], ROWS[part])


def test_items_are_located_in_the_first_file_that_was_recorded(database: Database) -> None:
    asked = [IDS[4], "unknown", IDS[3], IDS[0], IDS[3]]
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
    assert vectors.StoredVectors(database, key, kind, vectors.ids_of(IDS)).is_missing.all()


def test_members_come_once_and_in_ascending_order_with_their_texts(database: Database) -> None:
    ids = vectors.member_ids(database, ["c", "d"], "code")
    assert ids.to_pylist() == IDS
    texts = vectors.load_texts(database, "code", ids.take([5, 0]))
    text_of = {code.code_id: code.text for code in CODES}
    assert texts == [text_of[IDS[5]], text_of[IDS[0]]]
    assert len(vectors.member_ids(database, [], "code")) == 0


def test_the_items_of_a_lost_file_have_no_vector(database: Database) -> None:
    (database.settings.vectors / "b.arrow").unlink()
    assert vectors.lost_files(database, "key", "code") == ["b.arrow"]
    missing = vectors.StoredVectors(database, "key", "code", vectors.ids_of(IDS)).is_missing
    assert missing.tolist() == [True, True, True, False, False, True]
    vectors.delete_files(database, ["b.arrow"])
    assert vectors.files_of(database, "key", "code") == ["a.arrow"]
