"""Laws of a batch's messages: they are those of requests that are sent one by one."""

from typing import Any

import pytest

from agents.llm.batch.files import BatchMessages, check_batches
from infra.errors import SettingsError
from infra.settings import LanguageModelSettings


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("recorded/stdlib-sample", "has no batch API: leave out --batch"),
        ("anthropic/claude-3-5-haiku-latest", "not to anthropic: leave out --batch"),
        ("deepseek/deepseek-chat", "not to deepseek"),
    ],
)
def test_a_provider_without_openais_batch_api_is_refused(model: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check_batches(LanguageModelSettings(model=model))


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "gpt-4o", "litellm_proxy/any"])
def test_a_provider_with_openais_batch_api_is_accepted(model: str) -> None:
    check_batches(LanguageModelSettings(model=model, base_url="http://127.0.0.1:1/v1"))


REPLY = {"choices": [{"message": {"role": "assistant", "content": "yes"}}]}


@pytest.mark.parametrize(
    ("more", "tokens", "usd"),
    [
        ({"usage": {"prompt_tokens": 999_996, "completion_tokens": 1}}, 999_997, 0.075),
        ({"usage": {"prompt_tokens": 10**30, "completion_tokens": 1}}, 0, None),
        ({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, 0, None),
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 0}}, 0, None),
        ({"usage": {"prompt_tokens": -5, "completion_tokens": 1}}, 0, None),
        ({"hidden_params": 7}, 0, None),
    ],
)
def test_a_reply_costs_half_of_what_can_be_true(
    more: dict[str, Any], tokens: int, usd: float | None
) -> None:
    settings = LanguageModelSettings(model="openai/gpt-4o-mini", base_url="http://127.0.0.1:1/v1")
    reply = BatchMessages(settings).reply_of(REPLY | more)
    assert (reply.text, reply.tokens) == ("yes", tokens)
    assert reply.cost_usd == (None if usd is None else pytest.approx(usd))
