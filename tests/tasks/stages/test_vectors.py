"""Laws of vectors: they are looked up by a text's content, whatever its id in a benchmark."""

from pathlib import Path

import numpy as np
import pytest

from infra.records import Code, Label, Query, SourceInfo
from infra.settings import EncoderSettings, RaySettings
from infra.store import Database
from tasks.benchmarks import Benchmark
from tasks.encoders import Kind, encoders
from tasks.inputs.pairs import Pairs
from tasks.stages.embed import encoder_key
from tasks.stages.vectors import BenchmarkVectors, TextVectors
from tests.fakes.stores import add_file, empty_store

ENCODER = encoders.names()[0]
TEXTS = ["def f(x):\n    return x", "def g(x):\n    return x + 1"]
ROWS = np.array([[1, 0], [0, 1]], np.float32)


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
