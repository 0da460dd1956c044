"""The language-model client: structured replies, cached, retried, within limits and budget."""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from agents.llm.context import ContextCheck
from agents.llm.ledger import Ledger
from agents.llm.litellm_transport import Transport
from agents.llm.prompt import Prompt
from agents.llm.reply import HARMLESS, RawReply, Request, believable, repetition, token_limits
from agents.llm.retry import MORE_CONTEXT, Probe, RequestError, RetryClient
from agents.llm.structured_output import ReplyType, RequestForm, read, schema_of
from infra.errors import PromptsCutError, ReplyCutError, UnreadableReplyError
from infra.identity import digest_of
from infra.journal import packed
from infra.records import LanguageModelCall
from infra.settings import LanguageModelSettings

_ATTEMPTS = 2  # a reply that does not validate is requested once more
_LONGEST_PROBLEM = 600
_NEARLY = 0.9  # of the limit, which servers count otherwise
_STATUSES = {"transient": "unavailable", "unreadable": "unreadable"}  # of calls that failed
_PATIENCE_S = 20.0  # with the first small request
_AWAY = re.compile(r"ClientConnector|InvalidURL|ConnectError|Cannot connect to host")
_LONGEST_ECHO = 2_000  # characters of an unreadable reply that go back to the model

_log = logging.getLogger(__name__)

OnCall = Callable[[LanguageModelCall], None]


def ignore_call(call: LanguageModelCall) -> None:
    """Keep no record of a call."""


class Model(Protocol):
    """A language model as the agents see it."""

    @property
    def code_limit(self) -> int:
        """Longest code in a prompt, in characters."""

    @property
    def language(self) -> str:
        """The code's language, as prompts call it."""

    async def ask(self, role: str, prompt: Prompt, reply_type: type[ReplyType]) -> ReplyType:
        """Return a reply of that type."""


class LanguageModel:
    """A client of one model.

    Args:
        settings: Which model and how.
        ledger: Has the replies that were paid for, and the budget that all workers share.
        labelling_round: Replies of one round are not found by another.
    """

    def __init__(
        self, settings: LanguageModelSettings, ledger: Ledger, labelling_round: int = 1
    ) -> None:
        self.code_limit = settings.max_code_characters
        self.language = "Python"  # the trace of a pair knows better
        self._model = settings.model
        self._sampling = [settings.model, settings.temperature, settings.max_tokens]
        self._max_tokens, self._variables = settings.max_tokens, settings.variables
        self._field_limit = settings.max_field_characters
        self._later_round = [] if labelling_round == 1 else [labelling_round]  # first: no part
        self._ledger = ledger
        self._transport = Transport(settings)
        self._retries = RetryClient(settings)
        self._form = RequestForm(limit=settings.limit_key or "max_tokens")
        self._probe = Probe(lambda: self._ask_harmless(HARMLESS))
        self._context = ContextCheck(settings, self._ask_harmless)

    async def ask(
        self,
        role: str,
        prompt: Prompt,
        reply_type: type[ReplyType],
        on_call: OnCall = ignore_call,
    ) -> ReplyType:
        """Return the model's reply; ``on_call`` gets every call, also when this raises.

        Raises:
            LanguageModelError: No reply came, or two that do not validate; its classes say whether
                that is of this prompt, of all requests or of the budget.
        """
        schema = schema_of(reply_type, self._field_limit)
        messages: tuple[dict[str, str], ...] = (
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        )
        for attempt in range(1, _ATTEMPTS + 1):
            request = Request(role=role, attempt=attempt, messages=messages, reply_schema=schema)
            call = await self.call(request, on_call)
            try:
                reply = read(call.reply, reply_type, f"{prompt.system}\n{prompt.user}")
            except ValueError as error:
                problem = call.error or str(error)[:_LONGEST_PROBLEM]
                on_call(call.model_copy(update={"status": "unreadable", "error": problem}))
                repeated = repetition(call.reply) if call.error else ""
                if call.error and not repeated:  # once more it would be cut again
                    raise ReplyCutError(f"{self._model} as {role}: {problem}") from None
                messages = (*messages, *_asked_again(call.reply, problem, repeated))
            else:
                on_call(call.model_copy(update={"error": ""}))
                return reply
        raise UnreadableReplyError(
            f"{self._model} as {role} gave no readable reply in {_ATTEMPTS} attempts: {problem}"
        )

    async def check_answer(self) -> RawReply | None:
        """Return the reply to one small request, sent once; None of a server that is busy or slow.

        Raises:
            LanguageModelError: No server is there, it refuses all requests, or is none of OpenAI's
                protocol.
        """
        self._transport.open()  # else a slow import would be a slow server
        try:
            async with asyncio.timeout(_PATIENCE_S):
                key = digest_of([HARMLESS.model_dump()])
                return await self._request_in_accepted_form(HARMLESS, key)
        except TimeoutError:
            _log.warning(
                "%s has not answered a small request in %g s: it is busy or slow",
                self._model, _PATIENCE_S,
            )  # fmt: skip
        except RequestError as error:
            if error.kind != "transient" or _AWAY.search(error.message):
                self._retries.raise_for(error)
            _log.warning("%s: %s %s", self._model, error.status, error.message)
        return None

    async def close(self) -> None:
        """Close the HTTP clients and the ledger."""
        await self._transport.close()
        await self._ledger.close()

    async def call(self, request: Request, on_call: OnCall) -> LanguageModelCall:
        """Return a call with its reply, from the cache or from the provider.

        That of a reply that its limit cut has an error, which says so. Where no reply comes,
        ``on_call`` gets the call, and an error is raised as by `ask`.
        """
        key = digest_of([*self._sampling, request.model_dump(), *self._later_round])
        call = LanguageModelCall(
            role=request.role,
            attempt=request.attempt,
            model=self._model,
            prompt_digest=key,
            status="ok",
        )
        try:
            limits = token_limits(request, self._max_tokens)
            async with self._ledger.asking([key]):
                if self._context.error:
                    raise self._context.error
                most_usd = self._transport.price_of(limits)
                found = await self._ledger.find(key, limits.total, most_usd)
                raw = found or await self._ask_provider(request, key)
            await self._context.check(key, request, raw.prompt_tokens, is_kept=bool(found))
        except PromptsCutError as error:
            on_call(call.model_copy(update={"status": "refused", "error": str(error)}))
            await self._forget(self._context.keys)
            raise
        except RequestError as error:
            status = _STATUSES.get(error.kind, "refused")
            on_call(call.model_copy(update={"status": status, "error": error.message}))
            self._retries.raise_for(error)
        received = raw.model_dump(exclude={"text", "is_cut", "is_void"})
        received |= {"reply": raw.text, "cached": bool(found), "error": self._cut(raw)}
        return call.model_copy(update=received)

    def _cut(self, raw: RawReply) -> str:
        """Return that a reply was cut and what to set, "" where it was not."""
        taken = raw.completion_tokens or 0
        if not raw.is_cut and taken < self._max_tokens:
            return ""
        told = (
            f"the reply was cut at {self._variables}MAX_TOKENS ({self._max_tokens:,} tokens): "
            f"raise it, or bound texts by {self._variables}MAX_FIELD_CHARACTERS"
        )
        if 0 < taken < self._max_tokens * _NEARLY:
            return f"{told}; or, as it has {taken:,} tokens, {MORE_CONTEXT}"
        return told

    async def _forget(self, keys: set[str]) -> None:
        """Let kept replies be requested again."""
        forgotten = [(key, RawReply(text="", is_void=True)) for key in sorted(keys)]
        keys.clear()
        reservation = await self._ledger.reserve(0, 0.0)
        contents = packed((key, reply.model_dump_json().encode()) for key, reply in forgotten)
        await self._ledger.commit(reservation, 0, 0.0, contents)

    async def _ask_harmless(self, request: Request) -> int | None:
        """Return the provider's token count of a request of which nothing is kept."""
        key = digest_of([request.model_dump()])
        raw = await self._retries.get(self._request_in_accepted_form, request, key)
        return raw.prompt_tokens

    async def _ask_provider(self, request: Request, key: str) -> RawReply:
        """Return a reply; a refusal of this prompt alone differs from one of every request.

        A provider's firewall may refuse one prompt with any status, and that must not end a run.
        """
        try:
            return await self._retries.get(self._request_in_accepted_form, request, key)
        except RequestError as error:
            if error.may_be_of_the_prompt and await self._probe.is_answered():
                raise replace(error, of_prompt="filtered") from None
            raise

    async def _request_in_accepted_form(self, request: Request, key: str) -> RawReply:
        """Return a reply to a request in the first form that the provider takes."""
        while True:
            form = self._form
            try:
                return await self._request(request, key, form)
            except RequestError as error:
                simpler = form.simpler(error.message) if error.may_be_of_its_form else None
                if simpler is None:
                    raise
                if self._form == form:  # else a concurrent request has done so
                    self._form = simpler

    async def _request(self, request: Request, key: str, form: RequestForm) -> RawReply:
        """Return a reply, stored before anything else happens to it; a sure failure is free."""
        limits = token_limits(request, self._max_tokens)
        most_usd = self._transport.price_of(limits)
        # Replies wait for a small request that checks the server: it stands behind no pair's.
        is_ahead = request.role == HARMLESS.role
        async with self._ledger.reserved(limits.total, most_usd, is_ahead=is_ahead) as commit:
            raw = await self._ledger.wait_for(
                self._transport.request(request.messages, request.reply_schema, form)
            )
            raw = believable(raw, limits)
            self._probe.note_answer()
            tokens = (raw.is_counted and raw.tokens) or limits.total
            await commit(tokens, raw.cost_usd, [(key, raw)])
            return raw


def _asked_again(reply: str, problem: str, repeated: str) -> tuple[dict[str, str], ...]:
    """Return the messages by which a model replies anew; of what it repeated it sees little."""
    told = f"could not be read: {problem}"
    if repeated:
        reply = reply[: reply.find(repeated) + len(repeated)]
        told = f"repeats {repeated!r} without end."
    return (
        {"role": "assistant", "content": reply[:_LONGEST_ECHO] or "(empty)"},
        {"role": "user", "content": f"That reply {told}\nReply again, in the form asked for."},
    )
