"""The law of the short way: it sends, reads and fails as ``litellm.acompletion`` does."""

from collections.abc import Mapping
from typing import Any

import pytest

from agents.llm.litellm_transport import Transport, error_of_litellm, loaded_litellm, raw_reply
from agents.llm.openai_transport import PROVIDERS, ChatCompletions
from agents.llm.reply import RawReply
from agents.llm.retry import RequestError
from agents.llm.structured_output import RequestForm, response_format
from agents.roles.read import Screener
from infra.errors import ModelUnavailableError
from infra.settings import LanguageModelSettings
from tests.agents.conftest import Bench, rule
from tests.fakes.llm_server import KEY, ScriptedServer

MESSAGES = [
    {"role": "system", "content": "Role: screener\nJudge."},
    {"role": "user", "content": "?"},
]
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "json_schema": {"temperature": 0.0, "response_format": response_format("json_schema", SCHEMA)},
    "json_object": {"temperature": 0.5, "response_format": response_format("json_object", SCHEMA)},
    "text": {},
}
ANSWER = {"text": '<think>A "{}" or not?</think>{"verdict": "yes"}'}
KEYS = {
    "openai": "OPENAI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "hosted_vllm": "HOSTED_VLLM_API_KEY",
    "litellm_proxy": "LITELLM_PROXY_API_KEY",
}


class Recorder(ScriptedServer):
    """A scripted server that keeps each request with the key that came along."""

    def answer(self, request: dict[str, Any], key: str) -> Mapping[str, Any]:
        self.requests = [*getattr(self, "requests", []), ({"stream": False} | request, key)]
        return super().answer(request, key)


Ending = RawReply | RequestError


async def both_ways(
    server: Recorder, model: str, key: str | None, parameters: dict[str, Any]
) -> tuple[Ending, Ending]:
    """Return what came of the same request by litellm's way and by the short one."""
    litellm = loaded_litellm()
    short = ChatCompletions(
        LanguageModelSettings(model=model, base_url=server.base_url, api_key=key)
    )
    theirs: Ending
    ours: Ending
    try:
        theirs = raw_reply(
            await litellm.acompletion(
                model=model, messages=list(MESSAGES), api_base=server.base_url, api_key=key,
                timeout=10.0, max_retries=0, **parameters,
            )
        )  # fmt: skip
    except tuple(litellm.LITELLM_EXCEPTION_TYPES) as error:
        theirs = error_of_litellm(error, key)
    try:
        ours = await short.complete(list(MESSAGES), parameters)
    except RequestError as error:
        ours = error
    await short.close()
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()
    return theirs, ours


@pytest.fixture
def recorder(bench: Bench) -> Recorder:
    return bench.serve([rule("screener", ANSWER)], kind=Recorder)


@pytest.mark.parametrize("mode", PARAMETERS)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_same_goes_over_the_wire_and_the_same_is_read(
    recorder: Recorder, provider: str, mode: str
) -> None:
    asked = {"max_tokens": 77, **PARAMETERS[mode]}
    theirs, ours = await both_ways(recorder, f"{provider}/some-model", KEY, asked)
    first, second = recorder.requests
    assert second == first
    assert second[0]["messages"] == MESSAGES
    assert isinstance(ours, RawReply)
    assert isinstance(theirs, RawReply)
    assert (ours.text, ours.cost_usd) == ('{"verdict": "yes"}', None)
    assert theirs.text.endswith(ours.text)  # some thoughts are left by litellm
    assert (ours.prompt_tokens, ours.completion_tokens) == (
        theirs.prompt_tokens,
        theirs.completion_tokens,
    )


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_key_is_found_where_litellm_finds_it(
    recorder: Recorder, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS.values():
        monkeypatch.setenv(name, "another provider's")
    monkeypatch.setenv(KEYS[provider], KEY)
    await both_ways(recorder, f"{provider}/some-model", None, {})
    assert [key for _, key in recorder.requests] == [KEY, KEY]


@pytest.mark.parametrize("cached", [0, 900])
@pytest.mark.parametrize(
    "model",
    ["openai/gpt-4o-mini", "openai/gpt-5-mini", "openai/gpt-5-chat-latest",
     "gpt-4o-mini", "deepseek/deepseek-chat"],
)  # fmt: skip
async def test_a_known_model_has_its_parameters_and_its_price(
    recorder: Recorder, model: str, cached: int
) -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050}
    details = {"prompt_tokens_details": {"cached_tokens": cached}}
    recorder.follow([rule("screener", ANSWER | {"usage": usage | details})])
    theirs, ours = await both_ways(recorder, model, KEY, {"max_tokens": 77})
    assert recorder.requests[0] == recorder.requests[1]
    assert isinstance(theirs, RawReply)
    assert isinstance(ours, RawReply)
    assert ours.cost_usd == pytest.approx(theirs.cost_usd)
    assert ours.cost_usd


async def test_a_key_of_the_environment_is_in_no_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"status": 401, "message": f"Incorrect API key provided: {KEY}"}
    server = bench.serve([rule("screener", told)])
    monkeypatch.setenv(KEYS["hosted_vllm"], KEY)
    wire = Transport(LanguageModelSettings(model="hosted_vllm/x", base_url=server.base_url))
    with pytest.raises(RequestError) as caught:
        await wire.request(MESSAGES, SCHEMA, RequestForm())
    await wire.close()
    assert "Incorrect API key provided: ***" in caught.value.message


FAILURES: dict[str, dict[str, Any]] = {
    **{
        str(status): {"status": status, "retry_after": "7"}
        for status in (400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529)
    },
    "too long": {"status": 400, "message": "This model's maximum context length is 100 tokens"},
    "policy": {"status": 400, "message": "invalid_request_error: content_policy_violation"},
    "no quota": {"status": 429, "message": "insufficient_quota"},
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failure_is_the_same_failure(recorder: Recorder, failure: str) -> None:
    recorder.follow([rule("screener", FAILURES[failure])])
    theirs, ours = await both_ways(recorder, "openai/some-model", KEY, {})
    assert isinstance(theirs, RequestError)
    assert isinstance(ours, RequestError)
    assert (ours.kind, ours.status, ours.may_be_billed) == (theirs.kind, theirs.status, False)
    assert ours.may_be_of_the_prompt == theirs.may_be_of_the_prompt
    assert (ours.retry_after or None) == theirs.retry_after == FAILURES[failure].get("retry_after")


def broken(bench: Bench, answer: bytes) -> None:
    """Serve one and the same answer, whatever is asked."""

    class Broken(ScriptedServer):
        async def _respond(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
            return answer

    bench.serve([], kind=Broken)


NO_COMPLETIONS = {
    "a page": b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>hi</html>",
    "an empty object": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "nothing": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
    "no HTTP": b"what?\r\n\r\n",
}


@pytest.mark.parametrize("answer", NO_COMPLETIONS)
async def test_an_answer_that_is_no_completion_may_be_asked_for_again(
    bench: Bench, answer: str
) -> None:
    broken(bench, NO_COMPLETIONS[answer])
    with pytest.raises(ModelUnavailableError):
        await Screener(bench.model(max_retries=1)).screen(bench.pair)


def test_only_known_providers_requests_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ChatCompletions.suits("anthropic/claude-3-5-haiku-latest")
    assert not ChatCompletions.suits("openai/o3-mini")
    assert ChatCompletions.suits("openai/gpt-4o-mini")
    monkeypatch.setenv("OPENAI_ORG_ID", "an organisation, which the SDK alone would send")
    assert not ChatCompletions.suits("openai/gpt-4o-mini")
