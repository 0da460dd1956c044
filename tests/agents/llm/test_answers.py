"""Laws of odd answers: what is paid for is not lost, what may be billed stays reserved."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from agents.llm.embeddings import vectors_of
from infra.errors import ModelRefusedError, ModelUnavailableError
from infra.records import LanguageModelCall
from tests.agents.conftest import Bench, Screen
from tests.agents.llm.test_openai_transport import NO_COMPLETIONS, broken
from tests.fakes.llm_server import ScriptedServer

REPLY = json.dumps({"reason": "r", "verdict": "clear_match"})
COUNTS = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


def answer_with(usage: object = None, head: bytes = b"", **changes: Any) -> bytes:
    """Return a completion with this usage, these headers, and other fields beside the reply."""
    choice = {"index": 0, "message": {"role": "assistant", "content": REPLY}}
    body = {"choices": [{**choice, "finish_reason": "stop"}], "usage": usage, **changes}
    content = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (head, len(content)) + content


def with_bytes(found: bytes, put: bytes) -> bytes:
    """Return a completion in which bytes are replaced by others of the same number."""
    assert len(found) == len(put)
    return answer_with(COUNTS, id="0123456789" * 10).replace(found, put)


ODD_ANSWERS = {
    "a header that is no ASCII": answer_with(COUNTS, "X-Greeting: Grüße\r\n".encode()),
    "a header of no encoding": answer_with(COUNTS, b"X-Note: \xff\xfe\r\n"),
    "an unknown charset": answer_with(COUNTS, b"Content-Type: text/x; charset=rot13\r\n"),
    "an odd Retry-After": answer_with(COUNTS, b"Retry-After: \xe9\r\n"),
    "usage as a list": answer_with([12, 3]),
    "usage as words": answer_with("15 tokens"),
    "a count in words": answer_with({**COUNTS, "prompt_tokens": "12 tokens"}),
    "a count that is a list": answer_with({**COUNTS, "completion_tokens": [3]}),
    "a nested fraction": answer_with({**COUNTS, "prompt_tokens_details": {"cached_tokens": 1.5}}),
    "details as a list": answer_with({**COUNTS, "completion_tokens_details": [1]}),
    "an odd field of usage": answer_with({**COUNTS, "server_tool_use": 7, "cost": "free"}),
    "an infinite count": answer_with({**COUNTS, "prompt_tokens": float("inf")}),
    "no count at all": answer_with({"prompt_tokens": float("nan")}),
    "an odd time": answer_with(COUNTS, created="yesterday"),
    "an odd model": answer_with(COUNTS, model=["gpt"], id=7),
    "a number of 5,000 digits": with_bytes(b'"' + b"0123456789" * 10 + b'"', b"9" * 102),
    "half a character": with_bytes(b"0123456789", b"01234567\xc3("),
    "a raw line break": with_bytes(b"0123456789", b"01234567\r\n"),
}


@pytest.mark.parametrize("oddity", ODD_ANSWERS)
async def test_what_is_odd_beside_a_reply_does_not_lose_it(
    bench: Bench, screen: Screen, oddity: str
) -> None:
    broken(bench, ODD_ANSWERS[oddity])
    calls: list[LanguageModelCall] = []
    assert await screen(bench.model(model="openai/gpt-4o-mini"), calls) == "clear_match"
    (call,) = calls
    assert (call.prompt_tokens, call.completion_tokens) in {(12, 3), (None, None)}
    assert (call.cost_usd is None) == (call.prompt_tokens is None)


@pytest.mark.parametrize(
    ("status", "error"), [(401, ModelRefusedError), (503, ModelUnavailableError)]
)
async def test_an_odd_header_hides_no_failure(
    bench: Bench, screen: Screen, status: int, error: type[Exception]
) -> None:
    broken(bench, b"HTTP/1.1 %d No\r\nX-Note: \xff\r\nContent-Length: 0\r\n\r\n" % status)
    with pytest.raises(error):
        await screen(bench.model(max_retries=0), [])


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -(10**6), "completion_tokens": 300_000, "total_tokens": 1},
        {"prompt_tokens": 100, "completion_tokens": 10**9, "total_tokens": 10**9},
        {"prompt_tokens": 10**6, "completion_tokens": 1, "total_tokens": 10**6},
        {"prompt_tokens": 100},
    ],
)
@pytest.mark.parametrize("organisation", ["", "org-1"])
async def test_a_price_of_counts_that_cannot_be_true_is_unknown(
    bench: Bench, screen: Screen, usage: dict[str, int], organisation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if organisation:
        monkeypatch.setenv("OPENAI_ORG_ID", organisation)
    broken(bench, answer_with(usage))
    calls: list[LanguageModelCall] = []
    await screen(bench.model(model="openai/gpt-4o-mini"), calls)
    assert calls[0].cost_usd is None or calls[0].cost_usd < 0.01


BILLED = {
    "a page": (NO_COMPLETIONS["a page"], True),
    "an answer that breaks off": (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", True),
    "no HTTP": (NO_COMPLETIONS["no HTTP"], True),
    "silence": (b"", True),
    "a server that fails": (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", False),
    "a limit": (b"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", False),
}


@pytest.mark.parametrize("ending", BILLED)
async def test_a_request_that_may_be_billed_stays_reserved(
    bench: Bench, screen: Screen, ending: str
) -> None:
    answer, is_billed = BILLED[ending]

    class Ending(ScriptedServer):
        async def _respond(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
            if not answer:
                await asyncio.sleep(1)
            return answer

        async def _converse(self, reader: Any, writer: Any) -> None:
            writer.transport.set_write_buffer_limits(0)
            with suppress(OSError):
                await super()._converse(_Once(reader), writer)

    bench.serve([], kind=Ending)
    model = bench.model(max_retries=0, timeout_s=60 if answer else 0.5)
    with pytest.raises(ModelUnavailableError):
        await screen(model, [])
    tokens, _ = bench.spent(model)
    assert (tokens > 2_048) == is_billed


@pytest.mark.parametrize("odd", [[0.0], [], ["x"], [[1.0]], [None], None, 7, [1e99]], ids=str)
def test_a_vector_that_is_none_hides_no_other(odd: object) -> None:
    rows = [{"index": 1, "embedding": odd}, {"index": 0, "embedding": [1.0, 2.0]}]
    assert {
        place: vector.tolist()
        for place, vector in vectors_of(SimpleNamespace(data=rows), 2).items()
    } == {0: [1.0, 2.0]}


class _Once(asyncio.StreamReader):
    """A reader of one request, after which the server hangs up."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__()
        self._reader = reader
        self._has_read = False

    async def readuntil(self, separator: Any = b"\n") -> bytes:
        if self._has_read:
            raise ConnectionError
        self._has_read = True
        return await self._reader.readuntil(separator)

    async def readexactly(self, n: int) -> bytes:
        return await self._reader.readexactly(n)


@pytest.mark.parametrize("organisation", ["", "org-1"])
async def test_a_connection_that_is_refused_costs_nothing(
    bench: Bench, screen: Screen, organisation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if organisation:
        monkeypatch.setenv("OPENAI_ORG_ID", organisation)
    with ScriptedServer([]) as server:
        address = server.base_url
    model = bench.model(base_url=address, max_retries=0)
    with pytest.raises(ModelUnavailableError):
        await screen(model, [])
    assert bench.spent(model) == (0, 0.0)
