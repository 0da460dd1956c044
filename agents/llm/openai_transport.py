"""The transport to providers with OpenAI's protocol: litellm translates, aiohttp sends.

``litellm.acompletion`` takes 4 ms of CPU a call for its loggers, its search for a price and the
provider's SDK, so that two cores keep less than half of 256 requests of one second each in flight
(`tests.bench.bench_committee` compares both ways). Here litellm does what it alone knows: a
provider's address, key, parameters, replies, errors and prices.

To add a provider, name it in ``PROVIDERS``: a test compares its requests and replies with those of
``litellm.acompletion``.
"""

import json
import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from agents.llm.answers import bare_reply, read_answer
from agents.llm.bounds import bounded
from agents.llm.loading import loaded_litellm
from agents.llm.price_list import is_priced

if TYPE_CHECKING:
    import aiohttp

PROVIDERS = (
    "openai", "deepseek", "hosted_vllm", "litellm_proxy", "together_ai", "deepinfra",
    "fireworks_ai", "nvidia_nim", "xai",
)  # fmt: skip
_HEADERS = ("Retry-After",)  # all that is read; others may hold what httpx cannot
_ERROR = 400
_CONNECT_S = 30.0  # a request that is not sent by then costs nothing
_ONLY_OF_THE_SDK = {"OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"}

Message = dict[str, str]


class ChatCompletions:
    """Requests to one model; raises litellm's exceptions, as ``litellm.acompletion`` does.

    Args:
        model: litellm's name of the model.
        base_url: The server's address, None for the provider's own.
        key: The key, None for the one that litellm finds.

    Attributes:
        key: The key that is sent.
    """

    def __init__(self, model: str, base_url: str | None, key: str | None) -> None:
        self._litellm = litellm = loaded_litellm()
        self._model, self._provider, known_key, base = litellm.get_llm_provider(
            model, api_base=base_url, api_key=key
        )
        self._translator = litellm.utils.ProviderConfigManager.get_provider_chat_config(
            self._model, litellm.LlmProviders(self._provider)
        )
        is_openai = self._provider == "openai"  # of the others, keys and addresses are known now
        self.key: str | None = self._translator.get_api_key(key) if is_openai else known_key or key
        self._base_url = self._translator.get_api_base(base_url) if is_openai else base
        self._known = {"custom_llm_provider": self._provider, "api_base": self._base_url}
        self._is_priced = is_priced(model)
        self._session: aiohttp.ClientSession | None = None

    @staticmethod
    def suits(model: str) -> bool:
        """Return whether requests to such a model can go this way.

        Raises:
            Exception: litellm knows no provider for the model; one of its own exceptions.
        """
        provider = loaded_litellm().get_llm_provider(model)[1]
        return provider in PROVIDERS and not _ONLY_OF_THE_SDK & os.environ.keys()

    async def complete(self, messages: list[Message], parameters: dict[str, Any]) -> Any:  # noqa: ANN401 - litellm has no types
        """Return the reply as litellm's ``ModelResponse``, its price among the hidden parameters.

        Args:
            messages: The conversation.
            parameters: OpenAI's parameters; the provider may know them by other names.
        """
        raw = None
        try:
            url, headers, body = self._request(messages, parameters)
            raw = await self._post(url, headers, body)
            return self._response(raw, body)
        except self._expected_errors() as error:
            raised = self._named(error)
            raised.may_be_billed = _may_be_billed(error, raw)  # type: ignore[attr-defined]
            raise raised from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()
            self._session = None

    def _named(self, error: Exception) -> Exception:
        """Return an error as litellm calls it, which it raises or returns."""
        try:
            named: Exception = self._litellm.exception_type(
                model=self._model, original_exception=error, custom_llm_provider=self._provider
            )
        except tuple(self._litellm.LITELLM_EXCEPTION_TYPES) as raised:
            error = raised
        else:
            error = named
        return error

    def _expected_errors(self) -> tuple[type[Exception], ...]:
        """Return what a request can raise: of the connection, of what is sent back, of litellm."""
        import aiohttp  # noqa: PLC0415 - a tenth of a second, only where a model is used

        providers = import_module("litellm.llms.base_llm.chat.transformation").BaseLLMException
        litellms = tuple(self._litellm.LITELLM_EXCEPTION_TYPES)
        return (aiohttp.ClientError, OSError, ValueError, providers, *litellms)

    def _request(
        self, messages: list[Message], parameters: dict[str, Any]
    ) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Return address, headers and body."""
        named = {"model": self._model, "litellm_params": self._known}
        optional = self._litellm.utils.get_optional_params(
            model=self._model, custom_llm_provider=self._provider, messages=messages, **parameters
        )
        extra = optional.pop("extra_body", None) or {}
        headers = self._translator.validate_environment(
            headers={},
            messages=messages,
            optional_params=optional,
            api_key=self.key,
            api_base=self._base_url,
            **named,
        )
        url = self._translator.get_complete_url(
            api_base=self._base_url, api_key=self.key, optional_params=optional, **named
        )
        body = self._translator.transform_request(
            messages=messages, optional_params=optional, headers=headers, **named
        )
        return url, headers, {**body, **extra}

    async def _post(
        self, url: str, headers: dict[str, str], body: dict[str, Any]
    ) -> httpx.Response:
        session = self._session = self._session or _open_session(url)
        sent = session.post(
            url, data=json.dumps(body).encode(), headers=headers, allow_redirects=False
        )
        async with sent as response:
            given = {name: response.headers.get(name, "") for name in _HEADERS}
            return _answer(*await bounded(response.status, response.content.iter_any()), given)

    def _response(self, raw: httpx.Response, body: dict[str, Any]) -> Any:  # noqa: ANN401
        if raw.is_error:
            raise self._translator.get_error_class(raw.text, raw.status_code, raw.headers)
        try:
            response = self._translated(raw, body)
        except Exception:
            try:
                return bare_reply(read_answer(raw.content))
            except (LookupError, TypeError):
                pass
            raise
        # Not an entry of what is there, which a server may have sent.
        response._hidden_params = {"response_cost": self._cost_of(response)}  # noqa: SLF001
        return response

    def _translated(self, raw: httpx.Response, body: dict[str, Any]) -> Any:  # noqa: ANN401
        """Return litellm's reading of an answer; its errors are all of `_expected_errors`."""
        try:
            return self._translator.transform_response(
                model=self._model,
                raw_response=raw,
                model_response=self._litellm.ModelResponse(),
                logging_obj=_NullLogger(),
                request_data=body,
                messages=body["messages"],
                optional_params=body,
                litellm_params=self._known,
                encoding=None,
            )
        except self._expected_errors():
            raise
        except Exception as error:  # noqa: BLE001 - a plain one for a reply that is no completion
            status = getattr(error, "status_code", None)
            raise self._translator.get_error_class(
                str(getattr(error, "message", error)),
                status if isinstance(status, int) else 500,
                raw.headers,
            ) from None

    def _cost_of(self, response: Any) -> float | None:  # noqa: ANN401
        usage = getattr(response, "usage", None)
        if usage is None or not self._is_priced:
            return None
        try:
            prompt, completion = self._litellm.cost_per_token(
                model=self._model, custom_llm_provider=self._provider, usage_object=usage
            )
            return float(prompt + completion)
        except Exception:  # noqa: BLE001 - of counts that cannot be true; the reply is paid for
            return None


class _NullLogger:
    """A logger for litellm that logs nothing: no prompt and no key is written down."""

    def post_call(self, *_: object, **__: object) -> None:
        """Do nothing."""


def _answer(
    status: int, content: bytes, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """Return an answer, without counts that litellm would refuse together with the paid reply."""
    answer = read_answer(content) if status < _ERROR else None
    readable = content if answer is None else json.dumps(answer).encode()
    sound = {name: text for name, text in (headers or {}).items() if text and text.isascii()}
    return httpx.Response(status, headers=sound, content=readable)


def _may_be_billed(error: Exception, answer: httpx.Response | None) -> bool:
    """Return whether a request that ended so may have been answered, and charged for."""
    import aiohttp  # noqa: PLC0415 - a tenth of a second, only where a model is used

    if answer is not None:
        return not answer.is_error
    unsent = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
    return isinstance(error, aiohttp.ClientError | OSError) and not isinstance(error, unsent)


def _open_session(url: str) -> "aiohttp.ClientSession":
    """Return a session for requests to an address, with litellm's certificates and the proxy."""
    import aiohttp  # noqa: PLC0415 - a tenth of a second, only where a model is used

    http_handler = import_module("litellm.llms.custom_httpx.http_handler")
    connector = aiohttp.TCPConnector(limit=0, ssl=http_handler.get_ssl_configuration())
    unlimited = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
    return aiohttp.ClientSession(connector=connector, timeout=unlimited, proxy=_proxy_for(url))


def _proxy_for(url: str) -> str | None:
    """Return the environment's proxy; aiohttp would look for it anew, in threads, at each call."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
