"""What of a batch depends on the model's provider: the requests' bodies and what replies hold."""

import json
from typing import Any

from agents.llm.batch.prices import price_of_usage
from agents.llm.cache import RawReply
from agents.llm.litellm_transport import loaded_litellm, raw_reply, translated
from agents.llm.openai_transport import ChatCompletions
from agents.llm.question import Question, believable
from agents.llm.structured_output import ResponseFormat
from infra.errors import SettingsError
from infra.settings import LanguageModelSettings

BATCH_PROVIDERS = ("openai", "litellm_proxy")  # those whose servers have OpenAI's batch API

WAY_OUT = "leave out --batch (COSQA_ANNOTATION__BATCH=false) to send request by request"


def check_batches(settings: LanguageModelSettings) -> None:
    """Check that a model's provider has a batch API, without asking it.

    Raises:
        SettingsError: It has none that is known here.
    """
    if settings.is_recorded:
        raise SettingsError(f"{settings.model} has no batch API: {WAY_OUT}")
    provider = loaded_litellm().get_llm_provider(settings.model, api_base=settings.base_url)[1]
    if provider not in BATCH_PROVIDERS:
        raise SettingsError(
            f"llm.model {settings.model}: batches are sent by OpenAI's protocol, to "
            f"{' and '.join(BATCH_PROVIDERS)} models alone, not to {provider}: {WAY_OUT}"
        )


class BatchMessages:
    """Makes the bodies of requests, and reads those of replies.

    Args:
        settings: The model; `check_batches` has passed.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else None
        self._settings = settings
        self._completions = ChatCompletions(
            loaded_litellm(), settings.model, settings.base_url, key
        )

    @property
    def base_url(self) -> str:
        """The server's address."""
        return self._completions.base_url

    @property
    def key(self) -> str | None:
        """The key."""
        return self._completions.key

    def body_of(self, question: Question, form: ResponseFormat) -> dict[str, Any]:
        """Return the body of a request, in a response format that the provider takes."""
        messages, parameters = translated(
            self._settings, question.messages, question.reply_schema, form
        )
        return self._completions.body_of(messages, parameters)

    def reply_of(self, body: dict[str, Any]) -> RawReply:
        """Return what a reply's body holds, at the price of batches.

        Raises:
            ValueError: It is no completion.
        """
        response = self._completions.parsed(body)
        reply = believable(raw_reply(response, seconds=0.0))
        if not reply.is_counted:
            return reply
        usd = price_of_usage(self._settings.model, response.usage)
        return RawReply.model_validate(reply.model_dump() | {"cost_usd": usd})


def question_of(text: str) -> Question:
    """Return the question that a collected request holds."""
    return Question.model_validate(json.loads(text))
