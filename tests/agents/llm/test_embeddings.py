"""Laws of the client of embedding APIs.

Covers `agents.llm.embeddings`.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.llm.embeddings import EmbeddingLimits, EmbeddingModel
from agents.llm.ledger import JournalLedger, Ledger, journal_ledger
from infra.errors import (
    BudgetExhaustedError,
    CosqaError,
    ModelRefusedError,
    ModelUnavailableError,
    TextsDeclinedError,
    UnknownPriceError,
)
from infra.settings import EncoderSettings, StoreSettings
from tests.fakes.journals import journal_text
from tests.fakes.llm_server import KEY, ScriptedServer, embedding_of

TEXTS = ["abba", "read a json file", "", "abba", "cab"]
LIMITS = EmbeddingLimits(max_tokens=50, batch_size=2, concurrency=2)
NOTHING_COUNTED: list[dict[str, int]] = [{}, {"prompt_tokens": 0, "total_tokens": 0}, {}]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer([]) as running:
        yield running


def client(
    server: ScriptedServer,
    folder: Path,
    limits: EmbeddingLimits = LIMITS,
    ledger: Ledger | None = None,
    **settings: Any,
) -> EmbeddingModel:
    given = {"base_url": server.base_url, "api_key": KEY, "max_backoff_s": 0.01, "max_retries": 2}
    encoder = EncoderSettings.model_validate(given | settings)
    api = encoder.of_api("openai/text-embedding-3-large")
    return EmbeddingModel(api, limits, ledger or journal_ledger(StoreSettings(folder=folder), api))


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
    refused = (1, 2)  # a text, and then a harmless one, to see whether that is embedded
    answered = [
        text
        for number, call in enumerate(server.embedded)
        for text in call["input"]
        if number not in refused
    ]
    assert sorted(answered) == sorted({text or " " for text in TEXTS})
    before = len(server.embedded)
    again = await embed(client(server, tmp_path, api_key="another"), TEXTS)
    assert len(server.embedded) == before
    assert np.array_equal(again[0], embedding_of("abba", 8))
    assert not any(KEY in text for text in [*written(tmp_path), journal_text(tmp_path)])
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
    with pytest.raises(ModelUnavailableError, match="no reply in 3 tries"):
        await embed(client(server, tmp_path), ["c", "d"])


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"api_key": "sk-secret-of-mine"}, ModelRefusedError, "COSQA_ENCODER__API_KEY"),
        ({"budget_tokens": 1}, BudgetExhaustedError, "COSQA_ENCODER__BUDGET_TOKENS=1"),
        ({"budget_usd": 1e-9}, BudgetExhaustedError, "COSQA_ENCODER__BUDGET_USD"),
        ({"base_url": "http://127.0.0.1:9/v1", "max_retries": 0}, ModelUnavailableError, "1 try"),
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


@pytest.mark.parametrize("status", [400, 403, 413])
async def test_texts_that_a_firewall_refuses_are_named_and_all_others_are_kept(
    server: ScriptedServer, tmp_path: Path, status: int
) -> None:
    server.embedding_steps = [{"status": status, "message": "policy", "declines": "bad"}]
    texts = [f"text {n}" for n in range(20)]
    texts[7], texts[11] = "bad one", "a bad one too"
    limits = EmbeddingLimits(max_tokens=50, batch_size=8, concurrency=2)
    with pytest.raises(
        TextsDeclinedError, match=rf"won't embed 2 of the texts \({status}"
    ) as found:
        await embed(client(server, tmp_path, limits), texts)
    assert sorted(found.value.texts) == ["a bad one too", "bad one"]
    before = len(server.embedded)
    good = [text for text in texts if "bad" not in text]
    vectors = await embed(client(server, tmp_path, limits), good)
    assert np.array_equal(vectors, [embedding_of(text, 8) for text in good])
    assert len(server.embedded) == before, "what was embedded is kept"


UNUSABLE: list[list[Any]] = [
    [0.0, 0.0], [float("nan")] * 8, [], [float("inf")] + [1.0] * 7, [1e39] * 8, [None] * 8,
]  # fmt: skip


@pytest.mark.parametrize("vector", UNUSABLE, ids=str)
async def test_texts_without_a_usable_vector_are_named_and_all_others_are_kept(
    server: ScriptedServer, tmp_path: Path, vector: list[Any]
) -> None:
    server.embedding_steps = [{"vector": vector, "spoils": "odd"}]
    texts = [f"text {n}" for n in range(20)]
    texts[7], texts[11], texts[12] = "odd one", "an odd one too", "the oddest one"
    limits = EmbeddingLimits(max_tokens=50, batch_size=16, concurrency=1)
    with pytest.raises(TextsDeclinedError, match=r"won't embed 3 of the texts \(422") as found:
        await embed(client(server, tmp_path, limits), texts)
    assert sorted(found.value.texts) == sorted([texts[7], texts[11], texts[12]])
    asked = [text for call in server.embedded for text in call["input"]]
    assert {asked.count(text) for text in texts if "odd" not in text} == {1}
    before = len(server.embedded)
    good = [text for text in texts if "odd" not in text]
    vectors = await embed(client(server, tmp_path, limits), good)
    assert np.array_equal(vectors, [embedding_of(text, 8) for text in good])
    assert len(server.embedded) == before


async def test_a_text_whose_vector_is_of_another_size_than_the_others_is_named(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.embedding_steps = [{"vector": [1.0] * 5, "spoils": "odd"}]
    limits = EmbeddingLimits(max_tokens=50, batch_size=2, concurrency=1)
    with pytest.raises(TextsDeclinedError, match=r"no usable vector of 8 numbers") as found:
        await embed(client(server, tmp_path, limits), ["a", "b", "c", "odd"])
    assert found.value.texts == ("odd",)
    server.embedding_steps = [{"vector": [1.0] * 5, "spoils": ""}]
    with pytest.raises(ModelRefusedError, match="no usable vector of 8 numbers"):
        await embed(client(server, tmp_path, limits), ["a", "another"])


async def test_an_api_whose_vectors_are_never_usable_is_not_asked_text_by_text(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.embedding_steps = [{"vector": [0.0, 0.0], "spoils": ""}]
    limits = EmbeddingLimits(max_tokens=50, batch_size=64, concurrency=1)
    with pytest.raises(ModelRefusedError, match="no usable vector"):
        await embed(client(server, tmp_path, limits), [f"text {n}" for n in range(64)])
    assert [len(call["input"]) for call in server.embedded] == [64, 1]


async def test_an_api_that_refuses_everything_is_not_asked_text_by_text(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.embedding_steps = [{"status": 404, "message": "no such model"}]
    limits = EmbeddingLimits(max_tokens=50, batch_size=64, concurrency=1)
    with pytest.raises(ModelRefusedError, match="check the model's name"):
        await embed(client(server, tmp_path, limits), [f"text {n}" for n in range(64)])
    assert [len(call["input"]) for call in server.embedded] == [64, 1]


async def test_a_model_without_a_known_price_gets_one_request_on_a_budget_of_dollars(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = {"base_url": server.base_url, "api_key": KEY, "budget_usd": 1.0}
    unknown = EncoderSettings.model_validate(settings).of_api("openai/unknown")
    for _ in range(2):
        ledger = journal_ledger(StoreSettings(folder=tmp_path), unknown)
        model = EmbeddingModel(unknown, LIMITS, ledger)
        with pytest.raises(UnknownPriceError, match=r"price .* is unknown.*BUDGET_TOKENS"):
            await embed(model, TEXTS)
    assert len(server.embedded) == 1


async def test_an_answer_that_counts_no_tokens_is_charged_as_reserved(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.embedding_steps = [{"usage": usage} for usage in NOTHING_COUNTED]
    one_by_one = EmbeddingLimits(max_tokens=50, batch_size=1, concurrency=1)
    texts = [letter * 20 for letter in "abc"]
    model = client(server, tmp_path, one_by_one, budget_usd=1.0)
    await embed(model, texts)
    assert isinstance(model._ledger, JournalLedger)
    tokens, usd = model._ledger.spent()
    assert tokens == 60
    assert usd == pytest.approx(60 * 0.13e-6)


async def test_an_answer_without_usage_bars_no_later_budget_where_the_price_is_known(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.embedding_steps = [{"usage": {"prompt_tokens": -1, "total_tokens": -1}}, {}]
    one_by_one = EmbeddingLimits(max_tokens=50, concurrency=1)
    await embed(client(server, tmp_path, one_by_one), ["a"])
    model = client(server, tmp_path, one_by_one, budget_usd=1.0)
    await embed(model, ["b"])
    assert len(server.embedded) == 2


async def test_a_text_of_many_tokens_cannot_exceed_the_budget(
    server: ScriptedServer, tmp_path: Path
) -> None:
    limits = EmbeddingLimits(max_tokens=1_000)
    with pytest.raises(BudgetExhaustedError, match="may take 400"):  # as many as its characters
        await embed(client(server, tmp_path, limits, budget_tokens=300), ["9 8 7 6 " * 50])
    assert not server.embedded


async def test_what_is_asked_at_the_same_time_is_paid_once(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.embedding_steps = [{"delay_s": 0.2}]
    texts = ["a", "b", "c", "d", "e"]
    first = client(server, tmp_path)
    clients = [first, client(server, tmp_path, ledger=first._ledger)]
    found = await asyncio.gather(clients[0].embed(texts), clients[1].embed(texts[::-1]))
    await clients[0].close()
    assert np.array_equal(found[0], found[1][::-1])
    assert sorted(text for call in server.embedded for text in call["input"]) == texts


async def test_vectors_and_what_they_cost_are_kept_both_or_neither(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise BudgetExhaustedError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(JournalLedger, "_commit", full)
        with pytest.raises(BudgetExhaustedError):
            await embed(client(server, tmp_path), ["a"])
    await embed(client(server, tmp_path), ["a"])
    assert len(server.embedded) == 2
