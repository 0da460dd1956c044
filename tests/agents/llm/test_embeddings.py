"""Laws of the client of embedding APIs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.llm.embeddings import EmbeddingLimits, EmbeddingModel, embedding_model
from infra.errors import (
    BudgetExhaustedError,
    CosqaError,
    ModelRefusedError,
    ModelUnavailableError,
)
from infra.settings import EncoderSettings, StoreSettings
from tests.fakes.llm_server import KEY, ScriptedServer, embedding_of
from tests.fakes.packed import packed_text

TEXTS = ["abba", "read a json file", "", "abba", "cab"]
LIMITS = EmbeddingLimits(max_tokens=50, batch_size=2, concurrency=2)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer([]) as running:
        yield running


def client(
    server: ScriptedServer, folder: Path, limits: EmbeddingLimits = LIMITS, **settings: Any
) -> EmbeddingModel:
    given = {"base_url": server.base_url, "api_key": KEY, "max_backoff_s": 0.01, "max_retries": 2}
    encoder = EncoderSettings.model_validate(given | settings)
    store = StoreSettings(folder=folder)
    return embedding_model(encoder.of_api("openai/text-embedding-3-large"), store, limits)


def written(folder: Path) -> list[str]:
    return [file.read_text("latin-1") for file in folder.rglob("*") if file.is_file()]


async def embed(model: EmbeddingModel, texts: list[str]) -> Any:
    try:
        return await model.embed(texts)
    finally:
        await model.close()


async def test_vectors_come_in_the_order_of_the_texts_in_batches(
    server: ScriptedServer, tmp_path: Path
) -> None:
    found = await embed(client(server, tmp_path), TEXTS)
    assert np.array_equal(found, [embedding_of(text or " ", 8) for text in TEXTS])
    assert sorted(len(call["input"]) for call in server.embedded) == [2, 2], "each text once"


async def test_what_is_paid_for_is_never_asked_for_again(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.embedding_steps = [{}, {"status": 400, "message": "killed"}]
    one_by_one = EmbeddingLimits(max_tokens=50, batch_size=1, concurrency=1)
    with pytest.raises(ModelRefusedError):
        await embed(client(server, tmp_path, one_by_one), TEXTS)
    server.embedding_steps = [{}]
    await embed(client(server, tmp_path), TEXTS)
    answered = [text for n, call in enumerate(server.embedded) for text in call["input"] if n != 1]
    assert sorted(answered) == sorted({text or " " for text in TEXTS})
    before = len(server.embedded)
    again = await embed(client(server, tmp_path, api_key="another"), TEXTS)
    assert len(server.embedded) == before
    assert np.array_equal(again[0], embedding_of("abba", 8))
    assert not any(KEY in text for text in [*written(tmp_path), packed_text(tmp_path)])
    shorter = EmbeddingLimits(max_tokens=50, dimension=4)
    assert (await embed(client(server, tmp_path, shorter), TEXTS)).shape == (5, 4)


async def test_a_long_text_is_cut_at_the_models_tokens(
    server: ScriptedServer, tmp_path: Path
) -> None:
    await embed(client(server, tmp_path, EmbeddingLimits(max_tokens=5)), ["word " * 100, "short"])
    assert server.embedded[0]["input"] == ["word word word word word", "short"]


@pytest.mark.parametrize(
    "step",
    [
        {"status": 503},
        {"data": []},
        {"data": [{"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}]},
        {"data": [{"object": "embedding", "index": 0, "embedding": [0.0, 0.0]}] * 2},
        {
            "data": [
                {"object": "embedding", "index": n, "embedding": [1.0] * (n + 1)} for n in (0, 1)
            ]
        },
    ],
)
async def test_a_fault_that_may_pass_is_tried_again(
    server: ScriptedServer, tmp_path: Path, step: dict[str, Any]
) -> None:
    server.embedding_steps = [step, {"status": 429, "retry_after": "0"}, {}]
    found = await embed(client(server, tmp_path), ["a", "b"])
    assert np.array_equal(found, [embedding_of("a", 8), embedding_of("b", 8)])
    assert len(server.embedded) == 3
    server.embedding_steps = [step]
    with pytest.raises(ModelUnavailableError, match="no vectors in 3 tries"):
        await embed(client(server, tmp_path), ["c", "d"])


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"api_key": "sk-secret-of-mine"}, ModelRefusedError, "COSQA_ENCODER__API_KEY"),
        ({"budget_tokens": 1}, BudgetExhaustedError, "COSQA_ENCODER__BUDGET_TOKENS=1"),
        ({"budget_usd": 1e-9}, BudgetExhaustedError, "COSQA_ENCODER__BUDGET_USD"),
        ({"base_url": "http://127.0.0.1:9/v1", "max_retries": 0}, ModelUnavailableError, "1 tries"),
    ],
)
async def test_what_cannot_pass_ends_with_what_to_do(
    server: ScriptedServer,
    tmp_path: Path,
    settings: dict[str, Any],
    error: type[CosqaError],
    told: str,
) -> None:
    with pytest.raises(error, match=told) as caught:
        await embed(client(server, tmp_path, **settings), TEXTS)
    assert "secret-of-mine" not in str(caught.value)


async def test_a_text_of_many_tokens_cannot_exceed_the_budget(
    server: ScriptedServer, tmp_path: Path
) -> None:
    limits = EmbeddingLimits(max_tokens=1_000)
    with pytest.raises(BudgetExhaustedError, match="may take 400"):  # as many as its characters
        await embed(client(server, tmp_path, limits, budget_tokens=300), ["9 8 7 6 " * 50])
    assert not server.embedded
