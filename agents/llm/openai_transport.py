"""The transport to servers of OpenAI's protocol: a body of JSON over aiohttp.

Neither litellm nor OpenAI's client is used for it: the import of litellm takes seconds of each
worker, and a call by OpenAI's client 3 to 5 ms of CPU where this one takes .2.

To add a provider, name it in ``PROVIDERS``: a test compares its requests, replies, failures and
prices with those of ``litellm.acompletion``.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from agents.llm.price_list import prices_of, provider_of
from agents.llm.reply import TOO_LONG, RawReply, bounded, completion_of, plausible_count, status_of
from agents.llm.retry import PromptFault, request_error
from infra.settings import LanguageModelSettings

if TYPE_CHECKING:
    import aiohttp

Message = dict[str, str]


class Provider(NamedTuple):
    """A provider with OpenAI's protocol."""

    base_url: str  # "" where only the user knows it
    keys: tuple[str, ...]  # environment variables that may hold a key: the first that is set
    bases: tuple[str, ...]  # those that may hold another address


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    ),
    "deepseek": Provider(
        "https://api.deepseek.com/beta", ("DEEPSEEK_API_KEY",), ("DEEPSEEK_API_BASE",)
    ),
    "hosted_vllm": Provider("", ("HOSTED_VLLM_API_KEY",), ("HOSTED_VLLM_API_BASE",)),
    "litellm_proxy": Provider("", ("LITELLM_PROXY_API_KEY",), ("LITELLM_PROXY_API_BASE",)),
}
_ERROR = 400
_CONNECT_S = 30.0  # a request that is not sent by then costs nothing
_ONLY_OF_THE_SDK = {"OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"}
_REASONING = re.compile(r"gpt-5(?!-chat)")  # of OpenAI: they name the limit otherwise
_WITHOUT_SYSTEM = re.compile(r"(openai/)?o\d")  # OpenAI's that know no system text
_THOUGHTS = re.compile(r"\A<(?:budget:)?think(?:ing)?>.*?</(?:budget:)?think(?:ing)?>", re.DOTALL)
_CUT = ("length", "max_tokens")  # why a reply ended, in lower case
# What providers say of prompts that their filters take, or that are too long.
_OF_PROMPTS: Mapping[PromptFault, re.Pattern[str]] = {
    "filtered": re.compile(r"content_(policy|filter)", re.IGNORECASE),
    "too_long": re.compile(
        r"context.(length|window|limit|size)|maximum (context|input) length|string too long"
        r"|tokens exceed|maximum number of tokens|exceeds? .{0,40}context|prompt is too long",
        re.IGNORECASE,
    ),
}


class ChatCompletions:
    """Requests to one model.

    Args:
        settings: litellm's name of the model; address and key, None for those of the environment.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        name = provider_of(settings.model)
        provider = PROVIDERS[name]
        self._name, self._prices = settings.model.removeprefix(f"{name}/"), prices_of(settings)
        key = settings.api_key.get_secret_value() if settings.api_key else None
        self._key = key or found_key(provider.keys)
        named = (os.environ.get(name) for name in provider.bases)
        base = settings.base_url or next(filter(None, named), provider.base_url)
        self._url = base.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._limit = "max_tokens"
        if name == "openai" and _REASONING.match(self._name):
            self._limit = "max_completion_tokens"
        self._session: aiohttp.ClientSession | None = None

    @staticmethod
    def suits(model: str) -> bool:
        """Return True if requests to such a model can go this way."""
        is_known = provider_of(model) in PROVIDERS and not _WITHOUT_SYSTEM.match(model)
        return is_known and not _ONLY_OF_THE_SDK & os.environ.keys()

    async def complete(self, messages: list[Message], parameters: dict[str, Any]) -> RawReply:
        """Return the reply to a conversation, asked for with OpenAI's parameters.

        Raises:
            RequestError: No reply came. The key is not in it.
        """
        import aiohttp  # noqa: PLC0415 - a tenth of a second, only where a model is used

        named = {
            self._limit if name == "max_tokens" else name: of for name, of in parameters.items()
        }
        body = {"model": self._name, "messages": messages, **named}
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            async with self.open().post(
                self._url, data=json.dumps(body).encode(), headers=headers, allow_redirects=False
            ) as response:
                status, content = await bounded(response.status, response.content.iter_any())
                retry_after = response.headers.get("Retry-After", "")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            unsent = (
                aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL,
            )  # fmt: skip
            is_lost = isinstance(error, aiohttp.ClientError | OSError)
            is_answered = isinstance(error, aiohttp.ClientPayloadError)  # it breaks off
            raise request_error(
                200 if is_answered else 500, f"{type(error).__name__}: {error}", self._key,
                may_be_billed=is_lost and not isinstance(error, unsent),
            ) from None  # fmt: skip
        if status < _ERROR:
            try:
                return self._reply(content)
            except ValueError:
                status = status_of(content)
        message = content.decode(errors="replace")
        faults = (fault for fault, said in _OF_PROMPTS.items() if said.search(message))
        raise request_error(
            status,
            message if status >= _ERROR else f"an answer that is no chat completion: {message}",
            self._key,
            retry_after=retry_after,
            may_be_billed=status < _ERROR or TOO_LONG in message,
            of_prompt=next(faults, None) if status == _ERROR else None,
        )

    def open(self) -> "aiohttp.ClientSession":
        """Return the connections, which are opened where they are not."""
        import aiohttp  # noqa: PLC0415 - see `complete`

        if self._session is None:
            # aiohttp itself would look for the environment's proxy in threads, at each call.
            parts = urlsplit(self._url)
            proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
            connector = aiohttp.TCPConnector(limit=0, ssl=httpx.create_ssl_context())
            unlimited = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=unlimited, proxy=proxy
            )
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()
            self._session = None

    def _reply(self, content: bytes) -> RawReply:
        """Return the reply of an answer; its price comes of the counts, and is unknown without.

        What is odd beside the reply does not lose it, since it is paid for.

        Raises:
            ValueError: It is no completion.
        """
        answer = completion_of(content)
        [choice, *_], usage = answer["choices"], answer.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        text = _THOUGHTS.sub("", choice["message"]["content"])
        is_cut = str(choice.get("finish_reason")).lower() in _CUT
        counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
        reply = RawReply.model_validate({"text": text, "is_cut": is_cut, **counts})
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            return RawReply(text=text, is_cut=is_cut)
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        cached_tokens = plausible_count(cached or usage.get("prompt_cache_hit_tokens")) or 0
        counted = reply.prompt_tokens, reply.completion_tokens, cached_tokens
        return reply.model_copy(update={"cost_usd": self._prices and self._prices.usd(*counted)})


def found_key(names: tuple[str, ...]) -> str | None:
    """Return the key that the first of these environment variables holds, None for none."""
    return next(filter(None, (os.environ.get(name, "").strip() for name in names)), None)
