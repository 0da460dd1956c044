"""Laws of writing vectors: whole files of one size, whatever ends the run in between."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from infra.errors import DiskFullError, EncoderError
from infra.store import Database, vectors
from infra.store.vectors import StoredVectors
from tasks.encoders import EncoderSpec, Vectors
from tasks.runtime import vector_writer
from tasks.runtime.vector_writer import VectorWriter
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import empty_store, read_vectors

SPEC = EncoderSpec(
    name="made", model="none", revision="1", licence="MIT", source="here", dimension=4
)
IDS = [f"c{n:020x}" for n in range(100)]
TEXTS = {item: f"text {item[-2:]}" * (1 + 37 * number % 50) for number, item in enumerate(IDS)}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path)


def vectors_of(texts: Sequence[str]) -> Vectors:
    rows = np.array([[len(text), ord(text[5]), ord(text[6]), 1] for text in texts], np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def read(ids: vectors.Ids) -> list[str]:
    return [TEXTS[item] for item in ids.to_pylist()]


def embed(database: Database, batches: int = 100, shard_size: int = 40) -> None:
    """Embed what is missing, as a run that is killed after some batches."""
    ids = vectors.ids_of(IDS)
    missing = ids.filter(vectors.StoredVectors(database, SPEC.key, "code", ids).is_missing)
    writer = VectorWriter(database, SPEC, shard_size)
    for number, (kind, texts) in enumerate(writer.batches("code", missing, read, len(missing))):
        if number == batches:
            return
        assert kind == "code"
        assert len(texts) <= 10
        writer.add(number, vectors_of(texts))


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_writer, "_FEWEST_TEXTS", 10)
    monkeypatch.setattr(vector_writer, "_TEXTS_READ", 50)


@pytest.mark.parametrize("killed_after", [[], [1], [3], [4], [5, 2, 1], [9]])
def test_a_run_that_is_killed_loses_what_is_in_no_full_file_and_leaves_the_same_files(
    database: Database, killed_after: list[int]
) -> None:
    for batches in killed_after:
        embed(database, batches)
    embed(database)
    files = vectors.files_of(database, SPEC.key, "code")
    folder = database.settings.vectors
    assert sum(len(vectors.VectorFile(folder / file).ids) for file in files) == len(IDS)
    found = StoredVectors(database, SPEC.key, "code", vectors.ids_of(IDS)).load()
    assert np.array_equal(found, vectors_of([TEXTS[item] for item in IDS]))
    assert len(list(database.settings.vectors.rglob("*.*"))) == len(files) == 3


def test_batches_hold_texts_of_similar_length_the_longest_of_a_file_first(
    database: Database,
) -> None:
    writer = VectorWriter(database, SPEC, shard_size=40)
    given = [texts for _, texts in writer.batches("code", vectors.ids_of(IDS), read, 100)]
    lengths = [[len(text) for text in texts] for texts in given[:4]]
    assert all(min(one) >= max(other) for one, other in pairwise(lengths))
    assert sorted(text for texts in given for text in texts) == sorted(TEXTS.values())


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (
            lambda rows: rows * np.where(np.arange(len(rows)) == 3, np.nan, 1)[:, None],
            rf"{IDS[8]}, 'text 08.*', a vector of length nan",
        ),
        (lambda rows: rows * np.where(np.arange(len(rows)) == 3, 0, 1)[:, None], "length 0"),
        (lambda rows: rows * np.where(np.arange(len(rows)) == 3, np.inf, 1)[:, None], "inf"),
        (lambda rows: rows.astype(np.float64) * 1e39, "length inf"),
        (lambda rows: rows * 2, "length 2 instead of 1"),
        (lambda rows: rows[:, :3], r"shape \(10, 3\) instead of \(10, 4\)"),
        (lambda rows: rows[:9], r"shape \(9, 4\) instead of \(10, 4\)"),
    ],
    ids=[
        "NaN",
        "zero",
        "infinite",
        "infinite as it is stored",
        "not of unit length",
        "dimension",
        "number",
    ],
)
def test_unusable_vectors_are_refused_by_the_encoders_and_the_texts_name(
    database: Database, spoil: object, problem: str
) -> None:
    assert callable(spoil)
    writer = VectorWriter(database, SPEC, shard_size=40)
    _, texts = next(writer.batches("code", vectors.ids_of(IDS), read, 100))
    with pytest.raises(EncoderError, match=rf"encoder 'made' gave .*{problem}.* see that"):
        writer.add(0, spoil(vectors_of(texts)))
    assert list(database.settings.vectors.rglob("*.arrow")) == []


def test_vectors_that_are_compared_by_products_have_any_length_but_none(database: Database) -> None:
    spec = SPEC.model_copy(update={"similarity": "product"})
    assert spec.key != SPEC.key
    writer = VectorWriter(database, spec, shard_size=40)
    _, texts = next(writer.batches("code", vectors.ids_of(IDS), read, 100))
    with pytest.raises(EncoderError, match=r"'text 1b.*', a vector of length 0 instead"):
        writer.add(0, 0 * vectors_of(texts))
    again = VectorWriter(database, spec, shard_size=40)
    for number, (_, texts) in enumerate(again.batches("code", vectors.ids_of(IDS), read, 100)):
        again.add(number, 7 * vectors_of(texts))
    stored = [read_vectors(file)[1] for file in database.settings.vectors.rglob("*.arrow")]
    assert np.allclose(np.linalg.norm(np.vstack(stored), axis=1), 7)


def test_nothing_to_embed_writes_nothing(database: Database) -> None:
    writer = VectorWriter(database, SPEC, 40)
    assert list(writer.batches("code", vectors.ids_of([]), read, 0)) == []
    assert list(database.settings.vectors.rglob("*")) == []


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Database]:
    database = empty_store(tmp_path / "store")
    for _ in small_disk(database.settings.vectors, megabytes=1):
        yield database


def test_a_run_goes_on_from_where_the_disk_was_full(small: Database) -> None:
    ballast = small.settings.vectors / "ballast"
    with ballast.open("wb") as file:
        file.write(bytes(2**20 - 2**12))
    with pytest.raises(DiskFullError, match=rf"{small.settings.vectors}.*--store"):
        embed(small)
    ballast.unlink()
    embed(small)
    found = StoredVectors(small, SPEC.key, "code", vectors.ids_of(IDS)).load()
    assert np.array_equal(found, vectors_of([TEXTS[item] for item in IDS]))
