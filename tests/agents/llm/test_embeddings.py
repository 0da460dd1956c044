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
ONE_BY_ONE = EmbeddingLimits(max_tokens=50, batch_size=1, concurrency=1)
NOTHING_COUNTED: list[dict[str, int]] = [{}, {"prompt_tokens": 0, "total_tokens": 0}, {}]


class Api:
    """A server of embeddings, and clients of it that share a folder."""

    def __init__(self, server: ScriptedServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    @property
    def embedded(self) -> list[dict[str, Any]]:
        """The requests so far."""
        return self.server.embedded

    def client(
        self, limits: EmbeddingLimits = LIMITS, ledger: Ledger | None = None,
        model: str = "openai/text-embedding-3-large", **settings: Any,
    ) -> EmbeddingModel:  # fmt: skip
        given = {"base_url": self.server.base_url, "api_key": KEY, "max_backoff_s": 0.01}
        api = EncoderSettings.model_validate(given | {"max_retries": 2} | settings).of_api(model)
        made = ledger or journal_ledger(StoreSettings(folder=self.folder), api)
        return EmbeddingModel(api, limits, made)

    async def embed(
        self, texts: list[str], limits: EmbeddingLimits = LIMITS, **settings: Any
    ) -> Any:
        """Return the vectors that a new client gets."""
        return await embed(self.client(limits, **settings), texts)

    async def assert_kept(self, texts: list[str], limits: EmbeddingLimits) -> None:
        """Check that texts have their vectors already."""
        before = len(self.embedded)
        vectors = await self.embed(texts, limits)
        assert np.array_equal(vectors, [embedding_of(text, 8) for text in texts])
        assert len(self.embedded) == before, "what was embedded is kept"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with ScriptedServer([]) as running:
        yield Api(running, tmp_path)


def written(folder: Path) -> list[str]:
    return [file.read_text("latin-1") for file in folder.rglob("*") if file.is_file()]


async def embed(model: EmbeddingModel, texts: list[str]) -> Any:
    try:
        return await model.embed(texts)
    finally:
        await model.close()


async def test_vectors_come_in_the_order_of_the_texts_in_batches(api: Api) -> None:
    found = await api.embed(TEXTS)
    assert np.array_equal(found, [embedding_of(text or " ", 8) for text in TEXTS])
    assert sorted(len(call["input"]) for call in api.embedded) == [2, 2], "each text once"


async def test_what_is_paid_for_is_never_asked_for_again(api: Api) -> None:
    api.server.embedding_steps = [{}, {"status": 400, "message": "killed"}]
    with pytest.raises(ModelRefusedError):
        await api.embed(TEXTS, ONE_BY_ONE)
    api.server.embedding_steps = [{}]
    await api.embed(TEXTS)
    refused = (1, 2)  # a text, and then a harmless one, to see whether that is embedded
    answered = [
        text
        for number, call in enumerate(api.embedded)
        for text in call["input"]
        if number not in refused
    ]
    assert sorted(answered) == sorted({text or " " for text in TEXTS})
    before = len(api.embedded)
    again = await api.embed(TEXTS, api_key="another")
    assert len(api.embedded) == before
    assert np.array_equal(again[0], embedding_of("abba", 8))
    assert not any(KEY in text for text in [*written(api.folder), journal_text(api.folder)])
    shorter = EmbeddingLimits(max_tokens=50, dimension=4)
    assert (await api.embed(TEXTS, shorter)).shape == (5, 4)


async def test_a_long_text_is_cut_at_the_models_tokens(api: Api) -> None:
    await api.embed(["word " * 100, "short"], EmbeddingLimits(max_tokens=5))
    assert api.embedded[0]["input"] == ["word word word word word", "short"]


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
async def test_a_fault_that_may_pass_is_tried_again(api: Api, step: dict[str, Any]) -> None:
    api.server.embedding_steps = [step, {"status": 429, "retry_after": "0"}, {}]
    found = await api.embed(["a", "b"])
    assert np.array_equal(found, [embedding_of("a", 8), embedding_of("b", 8)])
    assert len(api.embedded) == 3
    api.server.embedding_steps = [step]
    with pytest.raises(ModelUnavailableError, match="no reply in 3 tries"):
        await api.embed(["c", "d"])


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
    api: Api,
    settings: dict[str, Any],
    error: type[CosqaError],
    told: str,
) -> None:
    with pytest.raises(error, match=told) as caught:
        await api.embed(TEXTS, **settings)
    assert "secret-of-mine" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 403, 413])
async def test_texts_that_a_firewall_refuses_are_named_and_all_others_are_kept(
    api: Api, status: int
) -> None:
    api.server.embedding_steps = [{"status": status, "message": "policy", "declines": "bad"}]
    texts = [f"text {n}" for n in range(20)]
    texts[7], texts[11] = "bad one", "a bad one too"
    limits = EmbeddingLimits(max_tokens=50, batch_size=8, concurrency=2)
    with pytest.raises(
        TextsDeclinedError, match=rf"won't embed 2 of the texts \({status}"
    ) as found:
        await api.embed(texts, limits)
    assert sorted(found.value.texts) == ["a bad one too", "bad one"]
    await api.assert_kept([text for text in texts if "bad" not in text], limits)


UNUSABLE: list[list[Any]] = [
    [0.0, 0.0], [float("nan")] * 8, [], [float("inf")] + [1.0] * 7, [1e39] * 8, [None] * 8,
]  # fmt: skip


@pytest.mark.parametrize("vector", UNUSABLE, ids=str)
async def test_texts_without_a_usable_vector_are_named_and_all_others_are_kept(
    api: Api, vector: list[Any]
) -> None:
    api.server.embedding_steps = [{"vector": vector, "spoils": "odd"}]
    texts = [f"text {n}" for n in range(20)]
    texts[7], texts[11], texts[12] = "odd one", "an odd one too", "the oddest one"
    limits = EmbeddingLimits(max_tokens=50, batch_size=16, concurrency=1)
    with pytest.raises(TextsDeclinedError, match=r"won't embed 3 of the texts \(422") as found:
        await api.embed(texts, limits)
    assert sorted(found.value.texts) == sorted([texts[7], texts[11], texts[12]])
    asked = [text for call in api.embedded for text in call["input"]]
    assert {asked.count(text) for text in texts if "odd" not in text} == {1}
    await api.assert_kept([text for text in texts if "odd" not in text], limits)


async def test_a_text_whose_vector_is_of_another_size_than_the_others_is_named(api: Api) -> None:
    api.server.embedding_steps = [{"vector": [1.0] * 5, "spoils": "odd"}]
    limits = EmbeddingLimits(max_tokens=50, batch_size=2, concurrency=1)
    with pytest.raises(TextsDeclinedError, match=r"no usable vector of 8 numbers") as found:
        await api.embed(["a", "b", "c", "odd"], limits)
    assert found.value.texts == ("odd",)
    api.server.embedding_steps = [{"vector": [1.0] * 5, "spoils": ""}]
    with pytest.raises(ModelRefusedError, match="no usable vector of 8 numbers"):
        await api.embed(["a", "another"], limits)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"vector": [0.0, 0.0], "spoils": ""}, "no usable vector"),
        ({"status": 404, "message": "no such model"}, "check the model's name"),
    ],
)
async def test_an_api_that_refuses_everything_or_gives_nothing_usable_is_not_asked_text_by_text(
    api: Api, step: dict[str, Any], told: str
) -> None:
    api.server.embedding_steps = [step]
    limits = EmbeddingLimits(max_tokens=50, batch_size=64, concurrency=1)
    with pytest.raises(ModelRefusedError, match=told):
        await api.embed([f"text {n}" for n in range(64)], limits)
    assert [len(call["input"]) for call in api.embedded] == [64, 1]


async def test_a_model_without_a_known_price_gets_one_request_on_a_budget_of_dollars(
    api: Api,
) -> None:
    for _ in range(2):
        with pytest.raises(UnknownPriceError, match=r"price .* is unknown.*BUDGET_TOKENS"):
            await api.embed(TEXTS, model="openai/unknown", budget_usd=1.0)
    assert len(api.embedded) == 1


async def test_an_answer_that_counts_no_tokens_is_charged_as_reserved(api: Api) -> None:
    api.server.embedding_steps = [{"usage": usage} for usage in NOTHING_COUNTED]
    texts = [letter * 20 for letter in "abc"]
    model = api.client(ONE_BY_ONE, budget_usd=1.0)
    await embed(model, texts)
    assert isinstance(model._ledger, JournalLedger)
    tokens, usd = model._ledger.spent()
    assert tokens == 60
    assert usd == pytest.approx(60 * 0.13e-6)


async def test_an_answer_without_usage_bars_no_later_budget_where_the_price_is_known(
    api: Api,
) -> None:
    api.server.embedding_steps = [{"usage": {"prompt_tokens": -1, "total_tokens": -1}}, {}]
    await api.embed(["a"], ONE_BY_ONE)
    model = api.client(ONE_BY_ONE, budget_usd=1.0)
    await embed(model, ["b"])
    assert len(api.embedded) == 2


async def test_a_text_of_many_tokens_cannot_exceed_the_budget(api: Api) -> None:
    limits = EmbeddingLimits(max_tokens=1_000)
    with pytest.raises(BudgetExhaustedError, match="may take 400"):  # as many as its characters
        await api.embed(["9 8 7 6 " * 50], limits, budget_tokens=300)
    assert not api.embedded


async def test_what_is_asked_at_the_same_time_is_paid_once(api: Api) -> None:
    api.server.embedding_steps = [{"delay_s": 0.2}]
    texts = ["a", "b", "c", "d", "e"]
    first = api.client()
    clients = [first, api.client(ledger=first._ledger)]
    found = await asyncio.gather(clients[0].embed(texts), clients[1].embed(texts[::-1]))
    await clients[0].close()
    assert np.array_equal(found[0], found[1][::-1])
    assert sorted(text for call in api.embedded for text in call["input"]) == texts


async def test_vectors_and_what_they_cost_are_kept_both_or_neither(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise BudgetExhaustedError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(JournalLedger, "_commit", full)
        with pytest.raises(BudgetExhaustedError):
            await api.embed(["a"])
    await api.embed(["a"])
    assert len(api.embedded) == 2
