"""Laws of vectors: few texts need no Ray, and texts are found by content, whatever their ids."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.errors import EncoderError
from infra.records import Code, Label, Query, SourceInfo
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database
from tasks.benchmarks import Benchmark
from tasks.encoders import Kind, Vectors, encoders
from tasks.inputs.pairs import Pairs
from tasks.runtime import actors
from tasks.runtime.progress import begin_stages, stop_stages
from tasks.runtime.vector_writer import EmbeddedBatch
from tasks.stages import vectors
from tasks.stages.vectors import BenchmarkVectors, Embedding, TextVectors, encoder_key
from tests.fakes.stores import add_file, empty_store

ENCODER = encoders.names()[0]
TEXTS = ["def f(x):\n    return x", "def g(x):\n    return x + 1"]
ROWS = np.array([[1, 0], [0, 1]], np.float32)


class Fake:
    """An encoder that notes how many of its kind are at work at once."""

    spec = encoders.get("minilm").spec
    at_work, most = 0, 0

    def encode(self, texts: Sequence[str], kind: str, batch_size: int = 0) -> Vectors:
        if "fail" in texts:
            raise RuntimeError("out of memory")
        Fake.at_work += 1
        Fake.most = max(Fake.most, Fake.at_work)
        threading.Event().wait(0.01)
        Fake.at_work -= 1
        return np.ones((len(texts), 4), np.float32)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of Ray."""
    made: list[str] = []
    monkeypatch.setattr(vectors, "ensure_ray", lambda _: made.append("ray"))
    monkeypatch.setattr(actors, "embed_batches", lambda *_: iter([]))
    monkeypatch.setattr(encoders, "get", lambda _: Fake)
    return made


def embedded(
    tmp_path: Path, total: int, encoder: str = "minilm", text: str = "x", **ray: Any
) -> list[EmbeddedBatch]:
    database = empty_store(tmp_path)
    work = Embedding(database, encoder, EncoderSettings(), RaySettings(**ray))
    batches: Any = [("query", [text]), ("code", [text, text])]
    return list(vectors._embedded(work, batches, total))


def test_few_texts_are_embedded_here_each_batch_by_its_number(
    calls: list[str], tmp_path: Path
) -> None:
    found = embedded(tmp_path, 199)
    assert [(batch.number, batch.rows.shape) for batch in found] == [(0, (1, 4)), (1, (2, 4))]
    assert [batch.effort.texts for batch in found] == [1, 2]
    assert all(batch.effort.seconds >= 0.01 for batch in found), "what the encoder took"
    assert {len(batch.effort.machines) for batch in found} == {1}
    assert calls == []


@pytest.mark.parametrize(
    ("total", "ray"),
    [(200, {}), (3, {"address": "10.0.0.1:6379"}), (3, {"gpus": 0})],
    ids=["many", "a cluster has what they need", "no GPU may be used"],
)
def test_the_others_are_embedded_by_ray(
    calls: list[str], tmp_path: Path, total: int, ray: dict[str, Any]
) -> None:
    assert embedded(tmp_path, total, **ray) == []
    assert calls == ["ray"]


@pytest.mark.usefixtures("calls")
def test_an_encoder_that_fails_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="'minilm' failed: out of memory"):
        embedded(tmp_path, 3, text="fail")


@pytest.mark.usefixtures("calls")
def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    stop_stages()
    try:
        with pytest.raises(KeyboardInterrupt):
            embedded(tmp_path, 3)
    finally:
        begin_stages()


@pytest.mark.usefixtures("calls")
def test_encoders_side_by_side_take_turns(tmp_path: Path) -> None:
    Fake.most = 0
    threads = [threading.Thread(target=embedded, args=(tmp_path / str(n), 3)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Fake.most == 1


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """A store that has the vectors of two functions and of a query under their own ids."""
    database = empty_store(tmp_path)
    stored: dict[Kind, list[str]] = {
        "code": [Code.of(text).code_id for text in TEXTS],
        "query": [Query.of("add one").query_id],
    }
    for kind, ids in stored.items():
        rows = ROWS[: len(ids)]
        add_file(database, encoder_key(ENCODER), kind, f"{kind}.arrow", ids, rows)
    return database


def foreign() -> Benchmark:
    """The same texts under other ids, one of them twice and with other white space."""
    texts = [TEXTS[1], TEXTS[0] + "  \n", TEXTS[1]]
    return Benchmark(
        name="foreign",
        label_origin="people",
        queries=(Query(query_id="1", text="add  one"),),
        codes=tuple(Code(code_id=f"d{n}", text=text) for n, text in enumerate(texts)),
        labels=(Label(query_id="1", code_id="d0", origin="people", relevance=1.0),),
        sources=(SourceInfo(name="s", licence="MIT", revision="1", location="here"),),
    )


def test_known_texts_are_not_embedded_again(database: Database) -> None:
    source = BenchmarkVectors(foreign(), database, EncoderSettings(), RaySettings())
    ((positions, blocks),) = source.code_blocks([ENCODER])
    rows = blocks[ENCODER]
    assert positions.tolist() == [0, 1, 2], "of d0, d1, d2"
    assert np.array_equal(rows, ROWS[[1, 0, 1]])
    assert np.array_equal(source.queries(ENCODER, ["1"]), ROWS[:1])


@pytest.mark.parametrize(
    ("encoder", "similarity"), [("minilm", "cosine"), ("codexglue", "product")]
)
def test_pairs_are_ranked_by_the_similarity_of_their_encoder(
    database: Database, encoder: str, similarity: str
) -> None:
    key = encoder_key(encoder)
    ids: dict[Kind, str] = {"code": Code.of(TEXTS[0]).code_id, "query": Query.of("x").query_id}
    for kind, item in ids.items():
        add_file(database, key, kind, f"{encoder}-{kind}.arrow", [item], 3 * ROWS[:1])
    texts = TextVectors("pairs", database, EncoderSettings(), RaySettings())
    pairs = texts.load_pairs(encoder, Pairs("pairs", ("x",), (TEXTS[0],)))
    assert pairs.similarity == similarity
