"""The loading of litellm, which takes seconds; its own clients read no endless answer."""

import logging
import os
import warnings
from contextlib import aclosing
from functools import cache
from importlib import import_module
from types import ModuleType

import httpx

from agents.llm.answers import bounded

_OF_BODY = {"content-encoding", "content-length", "transfer-encoding"}


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
            status, content = await bounded(answer.status_code, answer.aiter_bytes())
        headers = [(name, text) for name, text in answer.headers.items() if name not in _OF_BODY]
        return httpx.Response(status, headers=headers, content=content, request=request)

    transport.handle_async_request = handle
