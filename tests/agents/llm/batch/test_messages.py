"""Laws of a batch's messages: they are those of requests that are sent one by one."""

import pytest

from agents.llm.batch.messages import check_batches
from infra.errors import SettingsError
from infra.settings import LanguageModelSettings


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("embedded/smollm2-135m-instruct", "the demo model .* has no batch API: leave out --batch"),
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
