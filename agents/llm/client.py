"""A language model as the agents see it: patient, journalled, asked for replies of a shape."""

import asyncio
import logging
from typing import Any, NoReturn, Protocol

from agents.evidence import Evidence
from agents.llm.cache import RawReply, ReplyStore
from agents.llm.endpoint import Endpoint
from agents.llm.litellm_transport import Wire
from agents.llm.prompt import Prompt
from agents.llm.rate_limit import Ledger
from agents.llm.retry import RequestError, wait_before
from agents.llm.structured_output import Dialect, ReplyType, read, schema_of
from infra.errors import (
    ModelRefusedError,
    ModelUnavailableError,
    PromptDeclinedError,
    UnreadableReplyError,
)
from infra.identity import digest_of
from infra.records import LanguageModelCall, Record, Role
from infra.settings import LanguageModelSettings

_ATTEMPTS = 2  # a reply that does not validate is asked for once more
_LONGEST_ECHO = 2_000  # characters of an unreadable reply that go back to the model
_LONGEST_PROBLEM = 600
_CHARACTERS_A_TOKEN = 3  # of English and Python there are four: rather reserve too much

_log = logging.getLogger(__name__)


class _Question(Record):
    role: Role
    attempt: int
    messages: tuple[dict[str, str], ...]
    reply_schema: dict[str, Any]


class Model(Protocol):
    """Whom the agents ask; ``code_limit`` is the longest code that a prompt may show."""

    code_limit: int

    async def ask(
        self, role: Role, prompt: Prompt, reply_type: type[ReplyType], evidence: Evidence
    ) -> ReplyType:
        """Return a reply of that shape, adding every call to the evidence."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class LanguageModel:
    """One model.

    Args:
        settings: Which model and how.
        replies: Where replies are kept and looked up before anything is paid for.
        ledger: Paces requests and keeps the budget, with all other workers of the same key.
        endpoint: Overrides the settings' address and key; the embedded model needs it.
    """

    def __init__(
        self,
        settings: LanguageModelSettings,
        replies: ReplyStore,
        ledger: Ledger,
        endpoint: Endpoint | None = None,
    ) -> None:
        self.code_limit = settings.max_code_characters
        self._settings = settings
        self._replies = replies
        self._wire = Wire(settings, endpoint)
        self._dialect = Dialect()
        self._ledger = ledger

    async def ask(
        self, role: Role, prompt: Prompt, reply_type: type[ReplyType], evidence: Evidence
    ) -> ReplyType:
        """Return the model's reply; every call is added to the evidence, also when this raises.

        Raises:
            UnreadableReplyError: Neither the reply nor a second one, asked for with what was
                wrong, validates.
            ModelUnavailableError: No reply came after all retries.
            PromptDeclinedError: The provider won't answer this prompt.
            ModelRefusedError: The provider would answer no such request: key, model, parameters.
            BudgetExhaustedError: What may be spent is spent.
        """
        schema = schema_of(reply_type, self._settings.max_field_characters)
        messages = tuple(prompt.messages())
        for attempt in range(1, _ATTEMPTS + 1):
            question = _Question(role=role, attempt=attempt, messages=messages, reply_schema=schema)
            call = await self._answer(question, evidence)
            try:
                reply = read(call.reply, reply_type)
            except ValueError as error:
                problem = str(error)[:_LONGEST_PROBLEM]
                unreadable = call.model_copy(update={"status": "unreadable", "error": problem})
                evidence.calls.append(unreadable)
                messages = (*messages, *_ask_again(unreadable))
            else:
                evidence.calls.append(call)
                return reply
        raise UnreadableReplyError(
            f"{self._settings.model} as {role} gave no readable reply in {_ATTEMPTS} attempts: "
            f"{problem}"
        )

    async def close(self) -> None:
        """Close the HTTP clients."""
        await self._wire.close()

    async def _answer(self, question: _Question, evidence: Evidence) -> LanguageModelCall:
        settings = self._settings
        key = digest_of(
            [settings.model, settings.temperature, settings.max_tokens, question.model_dump()]
        )
        raw = self._replies.find(key)
        cached = raw is not None
        if raw is None:
            try:
                raw = await self._persist(question)
            except RequestError as error:
                self._give_up(question, key, error, evidence)
            self._replies.keep(key, raw)
        return LanguageModelCall(
            role=question.role,
            attempt=question.attempt,
            model=settings.model,
            prompt_digest=key,
            status="ok",
            reply=raw.text,
            cached=cached,
            **raw.model_dump(exclude={"text"}),
        )

    async def _persist(self, question: _Question) -> RawReply:
        """Return a reply after as many tries, and in as plain a dialect, as it takes."""
        retry = 0
        while True:
            dialect = self._dialect
            try:
                return await self._request(question, dialect)
            except RequestError as error:
                if self._concede(dialect, error):
                    continue
                if error.meaning != "transient" or retry >= self._settings.max_retries:
                    raise
                wait = wait_before(retry, error.retry_after, self._settings.max_backoff_s)
                _log.info("%s: %s, retry in %.1f s", self._settings.model, error.status, wait)
                await asyncio.sleep(wait)
                retry += 1

    async def _request(self, question: _Question, dialect: Dialect) -> RawReply:
        """Return a reply, entered in the ledger; a request that brought none cost nothing."""
        asked = sum(len(message["content"]) for message in question.messages)
        expected = asked // _CHARACTERS_A_TOKEN + self._settings.max_tokens
        ticket = self._ledger.reserve(expected)
        if ticket.wait_s:
            await asyncio.sleep(ticket.wait_s)
        try:
            raw = await self._wire.request(question.messages, question.reply_schema, dialect)
        except RequestError:
            self._ledger.settle(ticket, 0, 0.0)
            raise
        told = (raw.prompt_tokens or 0) + (raw.completion_tokens or 0)
        self._ledger.settle(ticket, told or expected, raw.cost_usd)
        return raw

    def _concede(self, dialect: Dialect, error: RequestError) -> bool:
        if error.meaning != "refused":
            return False
        plainer = dialect.without(error.message)
        if plainer and self._dialect == dialect:  # else a concurrent request has conceded already
            self._dialect = plainer
        return plainer is not None

    def _give_up(
        self, question: _Question, key: str, error: RequestError, evidence: Evidence
    ) -> NoReturn:
        model = self._settings.model
        call = LanguageModelCall(
            role=question.role,
            attempt=question.attempt,
            model=model,
            prompt_digest=key,
            status="unavailable" if error.meaning == "transient" else "refused",
            error=error.message,
        )
        evidence.calls.append(call)
        said = f"({error.status}: {error.message})"
        if error.meaning == "transient":
            tries = self._settings.max_retries + 1
            raise ModelUnavailableError(f"{model} gave no reply in {tries} tries {said}") from None
        if error.meaning == "declined":
            raise PromptDeclinedError(f"{model} declined this prompt {said}") from None
        raise ModelRefusedError(
            f"{model} refused the request {said}; check the model's name in COSQA_LLM__MODEL, the "
            "key in COSQA_LLM__API_KEY and, for a server of your own, COSQA_LLM__BASE_URL"
        ) from None


def _ask_again(call: LanguageModelCall) -> list[dict[str, str]]:
    request = f"That reply could not be read: {call.error}\nReply again, in the form asked for."
    return [
        {"role": "assistant", "content": call.reply[:_LONGEST_ECHO] or "(empty)"},
        {"role": "user", "content": request},
    ]
