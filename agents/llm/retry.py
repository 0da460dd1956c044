"""Failed requests to a language model: their classes, which are tried again, and when."""

import asyncio
import logging
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NoReturn, Self, TypeVar

from agents.llm.reply import TOO_LONG, valid_unicode
from agents.llm.structured_output import is_of_limit
from infra.errors import (
    ModelRefusedError,
    ModelUnavailableError,
    PromptDeclinedError,
    UnreadableAnswerError,
)
from infra.secrets import without_secrets_in
from infra.settings import LanguageModelSettings

PromptFault = Literal["too_long", "filtered"]
Kind = Literal["transient", "rejected", "unreadable"] | PromptFault

MORE_CONTEXT = (
    "a server of your own reads more by OLLAMA_CONTEXT_LENGTH or num_ctx (Ollama), -c (llama.cpp) "
    "or --max-model-len (vLLM)"
)

_FIRST_WAIT_S = 0.5
_MAX_DOUBLINGS = 30
_TRANSIENT = {408, 409, 429}
_OF_UNKNOWN_PARTS = {500, 501}
_OF_THE_ACCOUNT = {401, 402}  # no prompt is refused with these
_LONGEST_MESSAGE = 600
_NO_QUOTA = "insufficient_quota"  # a 429 that will not pass

_log = logging.getLogger(__name__)
_Reply = TypeVar("_Reply")


@dataclass(eq=False)
class RequestError(Exception):
    """A request without a reply, in the provider's terms.

    Attributes:
        status: HTTP status, or the one that litellm gives the failure.
        message: The provider's message, without the key.
        retry_after: The Retry-After header.
        may_be_billed: Whether the provider may have answered, and charge for it.
        of_prompt: What the provider has against this prompt alone: it is too long, or filtered.
        is_last: Whether the request is not to be repeated.
    """

    status: int
    message: str
    retry_after: str | None = None
    may_be_billed: bool = False
    of_prompt: PromptFault | None = None
    is_last: bool = False

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Return constructor and arguments for pickle, whose default loses keyword arguments."""
        return type(self), astuple(self)

    @property
    def kind(self) -> Kind:
        """Its class: to be tried again, once or more often, of the prompt, or of all requests."""
        if self.of_prompt:
            return self.of_prompt
        if self.status == 413:
            return "too_long"
        if self.status < 400 or TOO_LONG in self.message:  # the server does answer
            return "unreadable"
        if _NO_QUOTA in self.message:
            return "rejected"
        is_rejection = 400 <= self.status < 500
        return "rejected" if is_rejection and self.status not in _TRANSIENT else "transient"

    @property
    def may_be_of_its_form(self) -> bool:
        """True if another form may be taken; some servers fail where they refuse."""
        return self.kind == "rejected" or self.status in _OF_UNKNOWN_PARTS

    @property
    def may_be_of_the_prompt(self) -> bool:
        """True if a rejection may concern the prompt alone, not key, model or account."""
        is_of_the_account = self.status in _OF_THE_ACCOUNT or _NO_QUOTA in self.message
        return self.kind == "rejected" and not is_of_the_account


def request_error(
    status: int,
    message: str,
    key: str | None,
    *,
    retry_after: str | None = None,
    may_be_billed: bool = False,
    of_prompt: PromptFault | None = None,
) -> RequestError:
    """Return an error without the key and other secrets, whose message is bounded."""
    bounded = without_secrets_in(valid_unicode(message), key)[:_LONGEST_MESSAGE]
    return RequestError(status, bounded, retry_after, may_be_billed, of_prompt)


class RetryClient:
    """The retries of requests to one model, and the errors of those that failed after all.

    Args:
        settings: The model, and how often and how late its requests are repeated.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        self._model = settings.model
        self._variables = settings.variables
        self._most = settings.max_retries
        self._longest_s = settings.max_backoff_s

    async def get(self, request: Callable[..., Awaitable[_Reply]], *given: object) -> _Reply:
        """Return the reply to a request with the given arguments; repeat it after transient errors.

        What cannot be read was paid for: it is requested once more.
        """
        most = {"transient": self._most, "unreadable": 1}
        failed = Counter[Kind]()
        while True:
            try:
                return await request(*given)
            except RequestError as error:
                retry, kind = failed.total(), error.kind
                if error.is_last or retry >= self._most or failed[kind] >= most.get(kind, 0):
                    raise
                wait_s = backoff_s(retry, error.retry_after, self._longest_s)
                _log.info("%s: %s, retry in %.1f s", self._model, error.status, wait_s)
            await asyncio.sleep(wait_s)
            failed[kind] += 1

    def raise_for(self, error: RequestError) -> NoReturn:
        """Raise an error of the tree for a request that got no reply after all retries."""
        model, cause = self._model, f"({error.status}: {error.message})"
        if error.kind == "transient":
            tries = "1 try" if not self._most else f"{self._most + 1} tries"
            raise ModelUnavailableError(
                f"{model} gave no reply in {tries} {cause}; check that its server runs, and "
                f"{self._variables}BASE_URL"
            ) from None
        if error.kind == "unreadable":
            raise UnreadableAnswerError(
                f"{model} answered what cannot be read {cause}; check that "
                f"{self._variables}BASE_URL is the address of a server of OpenAI's protocol"
            ) from None
        if error.kind == "too_long":
            raise PromptDeclinedError(
                f"this prompt is too long for {model} {cause}; longer code is cut to "
                f"{self._variables}MAX_CODE_CHARACTERS; {MORE_CONTEXT}"
            ) from None
        if error.kind == "filtered":
            raise PromptDeclinedError(f"{model} filtered this prompt {cause}") from None
        if is_of_limit(error.message):
            cause += (
                f"; {self._variables}MAX_TOKENS is the limit of a reply, and "
                f"{self._variables}LIMIT_KEY the name by which it is sent"
            )
        raise ModelRefusedError(
            f"{model} refused the request {cause}; check the model's name, the key in "
            f"{self._variables}API_KEY and, for a server of your own, {self._variables}BASE_URL"
        ) from None


def backoff_s(retry: int, retry_after: str | None, longest_s: float) -> float:
    """Return the seconds to wait before a retry (counted from 0).

    The provider's Retry-After is honoured; without one the wait doubles each time, with jitter so
    that workers who failed together don't return together. Neither exceeds ``longest_s``.
    """
    requested = _seconds(retry_after)
    if requested is not None:
        return min(requested, longest_s)
    jitter = random.uniform(0.5, 1)  # noqa: S311 - spreads load, guards nothing
    return min(_FIRST_WAIT_S * 2.0 ** min(retry, _MAX_DOUBLINGS), longest_s) * jitter


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, None where it makes no sense.

    A date without a zone, or with the zone ``-0000``, is read as UTC.
    """
    with suppress(ValueError):
        seconds = float(retry_after or "")
        return None if math.isnan(seconds) else max(0.0, seconds)
    with suppress(ValueError, OverflowError, TypeError, IndexError):
        moment = parsedate_to_datetime(retry_after or "")
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (aware - datetime.now(UTC)).total_seconds())
    return None


class Probe:
    """Asks whether a provider answers a harmless request now, once for all who want to know.

    Args:
        ask: Makes the harmless request.
    """

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self._ask = ask
        self._answers = 0
        self._asking = asyncio.Lock()

    def note_answer(self) -> None:
        """Note that the provider has answered a request, whichever."""
        self._answers += 1

    async def is_answered(self) -> bool:
        """Return True if the provider answers.

        Raises:
            RequestError: No answer came.
        """
        before = self._answers
        async with self._asking:
            if self._answers > before:
                return True
            try:
                await self._ask()
            except RequestError as error:
                if error.kind == "transient":
                    raise
                return False
            return True
