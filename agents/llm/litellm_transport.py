"""The transport of requests to language models: to OpenAI's protocol directly, else by litellm.

litellm only carries a request here: its own retries repeat what can never succeed, its cache and
its router don't fit, its time-out is hours. ``client.py`` has what surrounds a request.
"""

import json
import logging
import os
import time
import warnings
from collections.abc import Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import httpx

from agents.llm.openai_transport import PROVIDERS, ChatCompletions, Message, found_key
from agents.llm.price_list import prices_of, provider_of
from agents.llm.reply import TOO_LONG, RawReply, TokenLimits, bounded, completion_of
from agents.llm.retry import PromptFault, RequestError, request_error
from agents.llm.structured_output import (
    RequestForm,
    format_instruction,
    response_format,
    without_bounds,
)
from infra.errors import SettingsError
from infra.settings import LanguageModelSettings

_ERROR = 400
_NAMES = (
    "litellm's names are provider/model, such as openai/gpt-4o-mini, "
    "anthropic/claude-3-5-haiku-latest or ollama/qwen2.5-coder; a server of OpenAI's protocol has "
    "openai/NAME"
)
_LONGEST_REPLY = 64_000  # characters; a server that ignores max_tokens fills no disk

_OF_PROMPTS: dict[str, PromptFault] = {
    "ContextWindowExceededError": "too_long",
    "ContentPolicyViolationError": "filtered",
}  # litellm's
_UNTIMED_S = 86_400.0  # litellm's own time-out: that of a request is the ledger's
_LOST = ("APIConnectionError", "Timeout", "APIResponseValidationError")  # litellm's
_UNSENT = ("ConnectError", "ConnectTimeout", "ClientConnectorError", "ClientConnectorDNSError")
_OF_BODY = {"content-type", "content-encoding", "content-length", "transfer-encoding"}

_statuses: ContextVar[list[int]] = ContextVar("_statuses")  # of the answers to one request
_open_transports: set["Transport"] = set()  # of those that use litellm's own clients


@cache
def loaded_litellm() -> ModuleType:
    """Import litellm: seconds and 155 MB, so only where a model is used."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices at import
    os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"  # else it reads a file `.env`
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        os.environ[name] = os.environ[name].strip()  # a line end is no part of a key
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import litellm  # noqa: PLC0415

        litellm.ModelResponse()  # builds its lazy types here, where their warnings are ignored
    litellm.suppress_debug_info = True
    # For embeddings this is taken in place of the 0 that is asked for.
    vars(litellm)["DEFAULT_MAX_RETRIES"] = 0
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    _bound_answers()
    module: ModuleType = litellm
    return module


def _bound_answers() -> None:
    """Bound what litellm's own clients read; it has no setting for that."""
    transport = import_module("litellm.llms.custom_httpx.aiohttp_transport").LiteLLMAiohttpTransport
    unbounded = transport.handle_async_request

    async def handle(self: object, request: httpx.Request) -> httpx.Response:
        async with aclosing(await unbounded(self, request)) as answer:
            _statuses.get([]).append(answer.status_code)
            status, content = await bounded(answer.status_code, answer.aiter_bytes())
        headers = [(name, text) for name, text in answer.headers.items() if name not in _OF_BODY]
        if status < _ERROR and b'"choices"' in content:
            with suppress(ValueError):
                content = json.dumps(completion_of(content)).encode()
                headers.append(("content-type", "application/json"))
        return httpx.Response(status, headers=headers, content=content, request=request)

    transport.handle_async_request = handle


class Transport:
    """Requests to one model, each tried once.

    Args:
        settings: Which model, with which sampling.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        self._max_tokens, self._temperature = settings.max_tokens, settings.temperature
        self._prices = prices_of(settings)
        self._has_own_prices = settings.usd_per_million_tokens is not None
        self._litellm_parameters = litellm_parameters(settings)
        is_known = ChatCompletions.suits(settings.model)
        self._completions = ChatCompletions(settings) if is_known else None

    async def request(
        self, messages: Sequence[Message], schema: dict[str, Any], form: RequestForm
    ) -> RawReply:
        """Return the model's reply to messages, the system text first, by a JSON schema.

        Raises:
            RequestError: No reply came. The key is not in it, even if the provider echoed it.
        """
        schema = schema if form.bounds else without_bounds(schema)
        system = messages[0]["content"] + format_instruction(form.mode, schema)
        sent = [{"role": "system", "content": system}, *messages[1:]]
        if not form.system:
            sent[:2] = [{**messages[1], "content": f"{system}\n\n{messages[1]['content']}"}]
        parameters = {
            form.limit: self._max_tokens,
            "temperature": self._temperature if form.temperature else None,
            "response_format": response_format(form.mode, schema),
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        self.open()
        started = time.monotonic()
        reply = await self._complete(sent, given)
        usd = reply.cost_usd
        if self._has_own_prices and self._prices and reply.is_counted:
            usd = self._prices.usd(reply.prompt_tokens or 0, reply.completion_tokens or 0)
        elif self._prices is None and usd == 0:  # unknown, not free
            usd = None
        return reply.model_copy(update={"seconds": time.monotonic() - started, "cost_usd": usd})

    def open(self) -> None:
        """Import what requests need, which takes seconds of this machine and of no server."""
        if self._completions:
            self._completions.open()
        else:
            loaded_litellm()
            _open_transports.add(self)

    def price_of(self, limits: TokenLimits) -> float | None:
        """Return the US dollars for so many tokens, None for no known price."""
        return self._prices and self._prices.usd(*limits)

    async def close(self) -> None:
        """Close the connections; litellm's own, which are shared, once no transport needs them."""
        if self._completions:
            await self._completions.close()
        if self not in _open_transports:
            return
        _open_transports.remove(self)
        if not _open_transports:
            litellm = loaded_litellm()
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()  # it would hand out closed clients

    async def _complete(self, messages: list[Message], parameters: dict[str, Any]) -> RawReply:
        if self._completions:
            return await self._completions.complete(messages, parameters)
        litellm = loaded_litellm()
        statuses: list[int] = []
        _statuses.set(statuses)
        try:
            return raw_reply(
                await litellm.acompletion(
                    messages=messages, **self._litellm_parameters, **parameters
                )
            )
        except tuple(litellm.LITELLM_EXCEPTION_TYPES) as error:
            failure = error_of_litellm(error, self._litellm_parameters["api_key"])
            if failure.status == 500 and statuses and statuses[-1] < _ERROR:
                failure = replace(failure, status=200, may_be_billed=True)  # it could not read it
            raise failure from None  # its chain may hold headers


def litellm_parameters(settings: LanguageModelSettings) -> dict[str, Any]:
    """Return the arguments of every request to a model; litellm itself retries none."""
    return {
        "model": settings.model,
        "api_base": settings.base_url,
        "api_key": settings.api_key.get_secret_value() if settings.api_key else None,
        "timeout": _UNTIMED_S,
        "max_retries": 0,
    }


def error_of_litellm(error: Any, key: str | None) -> RequestError:  # noqa: ANN401 - litellm has no types
    """Return an exception of litellm in our terms, without the key and other secrets."""
    message = str(error)
    headers = getattr(error, "litellm_response_headers", None) or {}
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not 100 <= status < 600:  # providers put anything there
        status = 500
    return request_error(
        status,
        message,
        key,
        retry_after=headers.get("retry-after"),
        may_be_billed=TOO_LONG in message or _may_be_billed(error),
        of_prompt=_OF_PROMPTS.get(type(error).__name__),
    )


def check_name(settings: LanguageModelSettings) -> None:
    """Check the name of a model.

    Raises:
        SettingsError: None is named, or no provider is known for it.
    """
    settings.require_model()
    model = settings.model
    if model.endswith("/"):
        raise SettingsError(f"llm.model {model} names a provider and no model: {_NAMES}")
    if settings.is_recorded or ChatCompletions.suits(model):
        return
    litellm = loaded_litellm()
    try:
        litellm.get_llm_provider(model, api_base=settings.base_url)
    except tuple(litellm.LITELLM_EXCEPTION_TYPES):
        raise SettingsError(f"llm.model {model}: no provider is known for it; {_NAMES}") from None


def check_model(settings: LanguageModelSettings) -> None:
    """Check that litellm can make requests to such a model, without making one.

    Raises:
        SettingsError: No model is named, no provider has one of that name, or it has no key.
    """
    check_name(settings)
    if settings.is_recorded or (settings.api_key and settings.base_url):
        return
    model = settings.model
    if ChatCompletions.suits(model):
        variables = PROVIDERS[provider_of(model)].keys
        missing = () if found_key(variables) else variables
    else:
        missing = loaded_litellm().validate_environment(model)["missing_keys"]
    if missing and not (settings.api_key or settings.base_url):
        raise SettingsError(
            f"llm.model {model} needs a key: set COSQA_LLM__API_KEY, or {' or '.join(missing)} as "
            "the provider's own documentation says"
        )


def raw_reply(response: Any) -> RawReply:  # noqa: ANN401 - litellm has no types
    """Return the reply in litellm's response."""
    usage = getattr(response, "usage", None)
    choice = response.choices[0] if response.choices else None
    text = choice and choice.message.content
    reply = RawReply(
        is_cut=getattr(choice, "finish_reason", None) == "length",
        text=text[:_LONGEST_REPLY] if isinstance(text, str) else "",
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        cost_usd=getattr(response, "_hidden_params", {}).get("response_cost"),
    )
    # A price comes of the counts: it is not known where these cannot be true.
    return reply if reply.is_counted else reply.model_copy(update={"cost_usd": None})


def _may_be_billed(error: BaseException) -> bool:
    """Return True if litellm's own way lost an answer, rather than got none."""
    cause: BaseException | None = error
    while cause:
        if type(cause).__name__ in _UNSENT:
            return False
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__ in _LOST
