"""Laws of odd answers: what is paid for is not lost, what may be billed stays reserved.

An answer without end costs bounded memory and time, on each way to a server: the short one,
litellm's by OpenAI's SDK and by its own clients, and embeddings.
"""

import asyncio
import gzip
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from agents.llm.embeddings import EmbeddingLimits, EmbeddingModel, vectors_of
from agents.llm.ledger import journal_ledger
from agents.llm.litellm_transport import Transport
from agents.llm.retry import RequestError
from agents.llm.structured_output import RequestForm
from infra.errors import (
    ModelRefusedError,
    ModelUnavailableError,
    UnreadableAnswerError,
    UnreadableReplyError,
)
from infra.settings import EncoderSettings, LanguageModelSettings, StoreSettings
from tests.agents.conftest import Bench
from tests.agents.llm.test_openai_transport import NO_COMPLETIONS, broken
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.rows import first_rows

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
    "no usage": answer_with(),
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
async def test_what_is_odd_beside_a_reply_does_not_lose_it(bench: Bench, oddity: str) -> None:
    broken(bench, ODD_ANSWERS[oddity])
    assert await bench.screen(model="openai/gpt-4o-mini") == "clear_match"
    (call,) = bench.calls
    assert (call.prompt_tokens, call.completion_tokens) in {(12, 3), (None, None)}
    assert (call.cost_usd is None) == (call.prompt_tokens is None)


@pytest.mark.parametrize(
    ("status", "error"), [(401, ModelRefusedError), (503, ModelUnavailableError)]
)
async def test_an_odd_header_hides_no_failure(
    bench: Bench, status: int, error: type[Exception]
) -> None:
    broken(bench, b"HTTP/1.1 %d No\r\nX-Note: \xff\r\nContent-Length: 0\r\n\r\n" % status)
    with pytest.raises(error):
        await bench.screen(max_retries=0)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -(10**6), "completion_tokens": 300_000, "total_tokens": 1},
        {"prompt_tokens": 100, "completion_tokens": 10**9, "total_tokens": 10**9},
        {"prompt_tokens": 10**6, "completion_tokens": 1, "total_tokens": 10**6},
        {"prompt_tokens": 2**70, "completion_tokens": 2**70, "total_tokens": 2**70},
        {"prompt_tokens": "12", "completion_tokens": "12", "total_tokens": "12"},
        {"prompt_tokens": 100},
    ],
)
@pytest.mark.usefixtures("way")
async def test_a_price_of_counts_that_cannot_be_true_is_unknown_and_the_reply_is_used(
    bench: Bench, usage: dict[str, Any]
) -> None:
    broken(bench, answer_with(usage))
    assert await bench.screen(model="openai/gpt-4o-mini") == "clear_match"
    (call,) = bench.calls
    assert (call.prompt_tokens, call.completion_tokens) in {(12, 12), (None, None)}
    assert call.cost_usd is None or call.cost_usd < 0.01


def http(content: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def message(content: object, **beside: Any) -> bytes:
    """Return a completion whose message has such a content."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}}
    return http(json.dumps({"choices": [{**choice, "finish_reason": "stop"}], **beside}).encode())


def stream(*deltas: object, end: str = "data: [DONE]\n\n", before: str = "data: ") -> bytes:
    """Return chunks of a completion as server-sent events."""
    chunks = [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    events = "".join(f"{before}{chunk}\n\n" for chunk in chunks) + end
    return http(events.encode(), "text/event-stream")


HALVES = {"role": "assistant", "content": REPLY[:9]}, {"content": REPLY[9:]}
COUNTED = f'data: {{"choices": [], "usage": {json.dumps(COUNTS)}}}\n\ndata: [DONE]\n\n'
READ = {
    "a compressed answer": http(
        gzip.compress(message(REPLY).partition(b"\r\n\r\n")[2]),
        "application/json\r\nContent-Encoding: gzip",
    ),
    "parts": message([{"type": "text", "text": REPLY[:9]}, {"type": "text", "text": REPLY[9:]}]),
    "parts after thoughts": message(
        [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
         {"type": "text", "text": REPLY}]
    ),
    "a stream": stream(*HALVES),
    "a stream with counts": stream(*HALVES, end=COUNTED),
    "a stream with comments": stream(*HALVES, before=": ping\r\n\r\nevent: chunk\r\ndata:"),
    "a stream of lines": stream(*HALVES, before="", end='{"choices": [{"finish_reason": "stop"}]}'),
    "a stream of parts": stream({"content": [{"type": "text", "text": REPLY}]}),
    "a stream with thoughts": stream({"reasoning_content": "hm"}, *HALVES),
    "an error beside a reply": message(REPLY, error={"message": "a warning"}),
}  # fmt: skip


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("form", READ)
async def test_a_reply_is_read_in_whatever_form_it_comes(bench: Bench, form: str) -> None:
    broken(bench, READ[form])
    assert await bench.screen() == "clear_match"
    assert len(bench.calls) == 1
    assert bench.calls[0].prompt_tokens in (None, 12)


TOLD = {
    "a page": (http(b"<html>Log in</html>", "text/html"), 2, "Log in"),
    "nothing": (http(b""), 2, "BASE_URL"),
    "an empty object": (http(b"{}"), 2, "BASE_URL"),
    "a list": (http(b"[1]"), 2, "BASE_URL"),
    "no choice": (http(b'{"choices": []}'), 2, "BASE_URL"),
    "a choice of nothing": (http(b'{"choices": [null]}'), 2, "BASE_URL"),
    "an object as text": (message({"verdict": "clear_match"}), 2, "BASE_URL"),
    "an error beside no text": (message(None, error={"message": "cuda"}), 2, "cuda"),
    "half an answer": (http(message(REPLY).partition(b"\r\n\r\n")[2][:-20]), 2, "BASE_URL"),
    "a broken connection": (message(REPLY)[:-20], 2, "BASE_URL"),
    "a stream that breaks off": (stream(*HALVES, end=""), 2, "BASE_URL"),
    "an empty stream": (stream(), 2, "BASE_URL"),
    "an error as a success": (http(b'{"error": "Unexpected endpoint"}'), 2, "Unexpected endpoint"),
    "a passing error as a success": (http(b'{"error": {"code": 503, "type": "busy"}}'), 4, "busy"),
}  # fmt: skip


@pytest.mark.parametrize("answer", TOLD)
async def test_an_answer_that_cannot_be_read_is_paid_twice_at_most_and_told(
    bench: Bench, answer: str
) -> None:
    content, most, said = TOLD[answer]
    asked = []

    class Answering(ScriptedServer):
        async def _respond(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
            asked.append(body)
            return content

        async def _converse(self, reader: Any, writer: Any) -> None:
            with suppress(OSError):
                await super()._converse(_Once(reader), writer)

    bench.serve([], kind=Answering)
    with pytest.raises(
        (UnreadableAnswerError, ModelRefusedError, ModelUnavailableError), match=said
    ):
        await bench.screen(max_retries=3)
    assert len(asked) <= most
    assert bench.calls[-1].status != "ok"


@pytest.mark.parametrize("kind", ["a page", "no choice", "half an answer"])
async def test_what_litellm_cannot_read_is_paid_twice_at_most(
    bench: Bench, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    broken(bench, TOLD[kind][0])
    model = bench.model(max_retries=3)
    with pytest.raises((UnreadableAnswerError, UnreadableReplyError)):
        await bench.screen(model)
    tokens, _ = bench.spent(model)
    assert 0 < tokens < 3 * (2_048 + 8_000)


BILLED = {
    "a page": (NO_COMPLETIONS["a page"], True),
    "an answer that breaks off": (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", True),
    "no HTTP": (NO_COMPLETIONS["no HTTP"], True),
    "silence": (b"", True),
    "a server that fails": (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", False),
    "a limit": (b"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", False),
}


@pytest.mark.parametrize("ending", BILLED)
async def test_a_request_that_may_be_billed_stays_reserved(bench: Bench, ending: str) -> None:
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
        await bench.screen(model)
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


@pytest.mark.usefixtures("way")
async def test_a_connection_that_is_refused_costs_nothing(bench: Bench) -> None:
    with ScriptedServer([]) as server:
        address = server.base_url
    model = bench.model(base_url=address, max_retries=0)
    with pytest.raises(ModelUnavailableError):
        await bench.screen(model)
    assert bench.spent(model) == (0, 0.0)


PART = 2**20
MESSAGES = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "?"}]
TIMEOUT_S = 20.0

Ask = Callable[[str, Path, float], Awaitable[object]]


def by_chat(model: str) -> Ask:
    async def ask(base_url: str, folder: Path, timeout_s: float) -> object:
        settings = LanguageModelSettings(
            model=model, timeout_s=timeout_s, base_url=base_url, api_key=SecretStr(KEY)
        )
        store = StoreSettings(folder=folder)
        wire, ledger = Transport(settings), journal_ledger(store, settings)
        try:
            request = wire.request(MESSAGES, {"type": "object"}, RequestForm())
            return await ledger.wait_for(request)
        finally:
            await wire.close()

    return ask


async def by_embedding(base_url: str, folder: Path, timeout_s: float) -> object:
    encoder = EncoderSettings(base_url=base_url, api_key=SecretStr(KEY), timeout_s=timeout_s)
    settings = encoder.of_api("openai/text-embedding-3-large")
    ledger = journal_ledger(StoreSettings(folder=folder), settings)
    model = EmbeddingModel(settings, EmbeddingLimits(max_tokens=9), ledger)
    try:
        return await ledger.wait_for(model._send(["a"]))
    finally:
        await model.close()


ROUTES: dict[str, Ask] = {
    "the short way": by_chat("openai/x"),
    "the SDK": by_chat("perplexity/x"),
    "litellm's client": by_chat("anthropic/claude-3-5-haiku-latest"),
    "embeddings": by_embedding,
}
each_route = pytest.mark.parametrize("route", ROUTES)


class Flood:
    """An answer whose parts are counted as they are sent."""

    def __init__(self, head: str, part: bytes = b"", times: int = 1, pause_s: float = 0) -> None:
        self.sent = self.answers = 0
        self._head = f"HTTP/1.1 {head}\r\n\r\n".encode()
        self._parts = part, times
        self._pause_s = pause_s

    def __call__(self) -> Iterator[bytes]:
        self.answers += 1
        for part in chain([self._head], repeat(*self._parts)):
            time.sleep(self._pause_s)
            self.sent += len(part)
            yield part


async def failure(
    route: str, server: ScriptedServer, folder: Path, timeout_s: float = TIMEOUT_S
) -> RequestError:
    with pytest.raises(RequestError) as caught:
        await ROUTES[route](server.base_url, folder, timeout_s)
    return caught.value


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer([]) as running:
        yield running


@each_route
async def test_a_reply_of_more_than_16_megabytes_is_left_unread_and_charged(
    server: ScriptedServer, tmp_path: Path, route: str
) -> None:
    server.flood = flood = Flood("200 OK", b" " * PART, 100)
    error = await failure(route, server, tmp_path)
    assert error.kind == "unreadable"
    assert "more than 16 MB" in error.message
    assert flood.answers == 1
    assert flood.sent < 40 * PART  # what lies in buffers is on top
    assert error.may_be_billed


@each_route
async def test_a_compressed_reply_is_measured_as_it_is_read(
    server: ScriptedServer, tmp_path: Path, route: str
) -> None:
    bomb = gzip.compress(b" " * (32 * PART), 1)
    head = f"200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}"
    server.flood = Flood(head, bomb)
    assert "more than 16 MB" in (await failure(route, server, tmp_path)).message


@each_route
async def test_no_more_than_64_kilobytes_of_an_error_are_read(
    server: ScriptedServer, tmp_path: Path, route: str
) -> None:
    server.flood = flood = Flood("503 No", b"overloaded " * (PART // 11), 100)
    started = time.process_time()
    error = await failure(route, server, tmp_path)
    assert (error.status, error.kind) == (503, "transient")
    assert "overloaded" in error.message
    assert flood.sent < 24 * PART
    assert time.process_time() - started < 5


@each_route
async def test_a_redirect_is_not_followed_and_says_what_to_set(
    server: ScriptedServer, tmp_path: Path, route: str
) -> None:
    with ScriptedServer([]) as other:
        other.flood = seen = Flood("200 OK", b"{}")
        for status in (301, 302, 303, 307, 308):
            location = f"{status} Moved\r\nLocation: {other.base_url}\r\nContent-Length: 0"
            server.flood = Flood(location)
            error = await failure(route, server, tmp_path)
            assert error.kind == "rejected"
            assert "base_url" in error.message
            assert KEY not in error.message
    assert not seen.sent


@pytest.mark.parametrize("route", first_rows(1, ROUTES))
async def test_an_answer_without_end_ends_by_the_time_out(
    server: ScriptedServer, tmp_path: Path, route: str
) -> None:
    server.flood = Flood("200 OK", b" ", 1_000, pause_s=0.1)
    started = time.monotonic()
    error = await failure(route, server, tmp_path, timeout_s=0.3)
    assert time.monotonic() - started < 60
    assert error.status == 408
