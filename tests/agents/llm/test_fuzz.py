"""Whatever a provider sends, a reply is read or refused by our own errors."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import strategies as st

from agents.llm.openai_transport import ChatCompletions
from agents.llm.reply import RawReply, status_of
from agents.llm.retry import backoff_s, request_error
from agents.llm.structured_output import Reply, read
from infra.settings import LanguageModelSettings
from tests.fuzzing import NUMBERS, examine

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.sampled_from(["\ud800", "12 tokens", 2**70, -1, 10**9, "yes", "assistant", "stop"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip
TOKENS = st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"])
USAGES = VALUES | st.dictionaries(
    TOKENS | st.sampled_from(["prompt_tokens_details", "completion_tokens_details", "cost"]),
    VALUES | st.dictionaries(TOKENS, VALUES, max_size=2), max_size=5,
)  # fmt: skip
FIELDS = st.dictionaries(
    st.sampled_from(["id", "created", "model", "object", "system_fingerprint", "error", "choices"]),
    VALUES, max_size=3,
)  # fmt: skip


class Verdict(Reply):
    """What is asked for."""

    verdict: str


@pytest.fixture(scope="module")
def completions() -> ChatCompletions:
    settings = LanguageModelSettings(model="openai/gpt-4o-mini", base_url="http://127.0.0.1:1/v1")
    return ChatCompletions(settings)


def completion(beside: dict[str, Any], usage: object, more: dict[str, Any]) -> dict[str, Any]:
    """Return a completion with a reply, and anything else beside it."""
    message = {"role": "assistant", "content": "a reply", **more}
    choice = {"index": 0, "finish_reason": "stop", **more, "message": message}
    return {**beside, "usage": usage, "choices": [choice]}


def parsed(completions: ChatCompletions, body: dict[str, Any]) -> RawReply:
    """Return the reply of an answer with such a body."""
    return completions._reply(json.dumps(body).encode())


MORE = st.dictionaries(
    st.sampled_from(["index", "finish_reason", "logprobs", "tool_calls", "refusal", "role"]),
    VALUES, max_size=2,
)  # fmt: skip


@pytest.mark.parametrize("cases", NUMBERS)
def test_a_reply_is_read_whatever_stands_beside_it(
    completions: ChatCompletions, cases: int
) -> None:
    def law(beside: dict[str, Any], usage: object, more: dict[str, Any]) -> None:
        answer = completion(beside, usage, more)
        reply = parsed(completions, answer)
        assert reply.text == "a reply"
        assert reply.cost_usd is None or (reply.cost_usd >= 0 and reply.is_counted)
        RawReply.model_validate_json(reply.model_dump_json())

    examine(law, cases, FIELDS, USAGES, MORE)


@pytest.mark.parametrize("cases", NUMBERS)
def test_any_body_is_a_reply_or_an_error_of_ours(completions: ChatCompletions, cases: int) -> None:
    def law(body: dict[str, Any]) -> None:
        with suppress(ValueError):
            parsed(completions, body).model_dump_json()
        assert 200 <= status_of(json.dumps(body).encode()) < 600

    examine(law, cases, st.dictionaries(st.text(max_size=5), VALUES, max_size=3) | FIELDS)


@pytest.mark.parametrize("cases", NUMBERS)
def test_any_bytes_and_any_text_can_be_read(completions: ChatCompletions, cases: int) -> None:
    def law(content: bytes, text: str) -> None:
        with suppress(ValueError):
            completions._reply(content)
        assert 200 <= status_of(content) < 600
        with suppress(ValueError):
            read(text, Verdict).model_dump_json()

    jsons = VALUES.map(lambda value: json.dumps(value).encode())
    examine(law, cases, st.binary(max_size=50) | jsons, st.text() | jsons.map(bytes.decode))


@pytest.mark.parametrize("cases", NUMBERS)
def test_any_error_of_a_provider_is_an_error_of_ours(cases: int) -> None:
    def law(status: int, text: str, retry_after: str) -> None:
        told = request_error(status, text, "key", retry_after=retry_after)
        assert told.kind in {"transient", "too_long", "filtered", "rejected"}
        assert backoff_s(0, told.retry_after, 9.0) <= 9.0

    examine(law, cases, st.integers(400, 599), st.text(), st.text(max_size=9))
