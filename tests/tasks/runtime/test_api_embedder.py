"""Laws of embedding by an API, through the stage that stores vectors.

Covers `tasks.runtime.api_embedder`.
"""

import json
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from infra.collected import Collected
from infra.errors import EncoderError, TextsDeclinedError
from infra.records import Code, Query, SourceInfo
from infra.settings import EncoderSettings, RaySettings, StoreSettings
from infra.store import corpus, open_database, vectors
from infra.summaries import NO_EFFORT
from tasks.encoders import ApiSpec, Kind, encoders
from tasks.runtime.api_embedder import embed_batches_by_api
from tasks.stages.vectors import Embedding, embed_texts, encoder_key
from tests.fakes.llm_server import KEY, ScriptedServer, embedding_of

TEXTS = [f"text {chr(97 + n % 26)} {n}" for n in range(30)]
CHILD = """
import json, sys
from infra.settings import EncoderSettings, StoreSettings
from tasks.runtime.api_embedder import embed_batches_by_api
url, folder, texts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
settings = EncoderSettings(base_url=url, api_key="scripted-key", batch_size=3, actors=1)
batches = [("code", texts)]
list(embed_batches_by_api("api:openai/tiny", batches, settings, StoreSettings(folder=folder)))
"""


def embedded(server: ScriptedServer, folder: Path, encoder: str, texts: list[str]) -> np.ndarray:
    settings = EncoderSettings.model_validate(
        {"base_url": server.base_url, "api_key": KEY, "batch_size": 3, "actors": 1}
    )
    store = StoreSettings(folder=folder)
    ((number, vectors, _),) = embed_batches_by_api(encoder, [("code", texts)], settings, store)
    assert number == 0
    return vectors


def test_a_killed_run_goes_on_without_paying_twice(tmp_path: Path) -> None:
    with ScriptedServer([]) as server:
        server.embedding_steps = [{}] * 4 + [{"delay_s": 30}] + [{}]
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, server.base_url, str(tmp_path), json.dumps(TEXTS)]
        )
        while len(server.embedded) < 5:
            assert child.poll() is None
            time.sleep(0.05)
        child.kill()
        child.wait()
        vectors = embedded(server, tmp_path, "api:openai/tiny", TEXTS)
        asked = [text for call in server.embedded for text in call["input"]]
    assert len(asked) == len(TEXTS) + 3, "the request in flight is the only one that is repeated"
    rows = np.array([embedding_of(text, 8) for text in TEXTS])
    assert np.allclose(vectors, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-6)


def test_what_an_api_was_sent_is_counted_and_what_was_paid_for_before_is_not(
    tmp_path: Path,
) -> None:
    with ScriptedServer([]) as server:
        server.embedding_steps = [{"usage": {"prompt_tokens": 12, "total_tokens": 12}}]
        settings = EncoderSettings.model_validate({"base_url": server.base_url, "api_key": KEY})
        store = StoreSettings(folder=tmp_path)
        batches: list[tuple[Kind, list[str]]] = [("code", ["a", "b"]), ("code", ["b", "a"])]
        [first, again] = embed_batches_by_api("api:openai/tiny", batches, settings, store)
    assert (first.effort.texts, first.effort.tokens, first.effort.machines) == (
        2,
        12,
        frozenset({"API"}),
    )
    assert first.effort.seconds > 0
    assert again.effort == NO_EFFORT


def test_texts_that_an_api_wont_embed_are_told_by_their_beginning_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = SimpleNamespace(advance=lambda *_: None)
    monkeypatch.setattr("tasks.stages.vectors.progress", lambda *_: nullcontext(bar))
    database = open_database(StoreSettings(folder=tmp_path))
    codes = tuple(Code.of(f"x = {n}", origin=f"lib/{n}.py:{n}") for n in range(40))
    bad = Query.of("how to make a bad thing", "queries.csv line 3")
    queries = (*(Query.of(f"query {n}") for n in range(5)), bad)
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    made = Collected(info=info, codes=codes, queries=queries)
    corpus.replace_collections(database, "print", {"made": made}, "made")
    text_of: dict[Kind, dict[str, str]] = {
        "code": {code.code_id: code.text for code in codes},
        "query": {query.query_id: query.text for query in queries},
    }
    with ScriptedServer([]) as server:
        server.embedding_steps = [{"status": 400, "message": "policy", "declines": "bad"}]
        settings = EncoderSettings.model_validate({"base_url": server.base_url, "api_key": KEY})
        work = Embedding(database, "api:openai/tiny", settings, RaySettings())
        embed_texts(work, "made", "code", text_of["code"])
        told = r"'how to make a bad thing'. All others .* leave these out"
        with pytest.raises(TextsDeclinedError, match=told):
            embed_texts(work, "made", "query", text_of["query"])
        before = len(server.embedded)
        del text_of["query"][bad.query_id]
        embed_texts(work, "made", "query", text_of["query"])
        assert len(server.embedded) == before, "what was embedded is kept"
    ids = vectors.ids_of(sorted(text_of["query"]))
    stored = vectors.StoredVectors(database, encoder_key("api:openai/tiny"), "query", ids)
    assert not stored.is_missing.any()


def test_the_registered_one_is_asked_by_its_own_name(tmp_path: Path) -> None:
    with ScriptedServer([]) as server:
        assert embedded(server, tmp_path, "text-embedding-3-large", ["x"]).shape == (1, 8)
        assert server.embedded[0]["model"] == "text-embedding-3-large"
        short = embedded(
            server, tmp_path, "api:short=openai/text-embedding-3-large?dimension=5", ["x"]
        )
        assert short.shape == (1, 5)
        assert server.embedded[1]["dimensions"] == 5


def test_a_reference_to_an_api_has_the_models_name_and_its_own_key() -> None:
    small = encoders.get("api:openai/text-embedding-3-small").spec
    assert isinstance(small, ApiSpec)
    assert (small.name, small.dimension, small.max_length) == ("text-embedding-3-small", 1536, 8191)
    names = ("text-embedding-3-small", "text-embedding-3-small?dimension=1536", "other?dimension=9")
    assert len({encoders.get(f"api:openai/{name}").spec.key for name in names}) == 3
    with pytest.raises(EncoderError, match="is an API: it has no checkpoint"):
        encoders.get("text-embedding-3-large")()
