"""The law of answers without end: whatever a server sends, it costs bounded memory and time.

It holds for each way to a server: the short one, litellm's by OpenAI's SDK and by its own clients,
and embeddings.
"""

import gzip
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest
from pydantic import SecretStr

from agents.llm.embeddings import EmbeddingLimits, EmbeddingModel
from agents.llm.ledger import journal_ledger
from agents.llm.litellm_transport import Transport
from agents.llm.retry import RequestError
from agents.llm.structured_output import RequestForm
from infra.settings import EncoderSettings, LanguageModelSettings, StoreSettings
from tests.fakes.llm_server import KEY, ScriptedServer

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


WAYS: dict[str, Ask] = {
    "the short way": by_chat("openai/x"),
    "the SDK": by_chat("perplexity/x"),
    "litellm's client": by_chat("anthropic/claude-3-5-haiku-latest"),
    "embeddings": by_embedding,
}
each_way = pytest.mark.parametrize("way", WAYS)


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
    way: str, server: ScriptedServer, folder: Path, timeout_s: float = TIMEOUT_S
) -> RequestError:
    with pytest.raises(RequestError) as caught:
        await WAYS[way](server.base_url, folder, timeout_s)
    return caught.value


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer([]) as running:
        yield running


@each_way
async def test_a_reply_of_more_than_16_megabytes_is_left_unread_and_charged(
    server: ScriptedServer, tmp_path: Path, way: str
) -> None:
    server.flood = flood = Flood("200 OK", b" " * PART, 100)
    error = await failure(way, server, tmp_path)
    assert error.kind == "unreadable"
    assert "more than 16 MB" in error.message
    assert flood.answers == 1
    assert flood.sent < 40 * PART  # what lies in buffers is on top
    assert error.may_be_billed


@each_way
async def test_a_compressed_reply_is_measured_as_it_is_read(
    server: ScriptedServer, tmp_path: Path, way: str
) -> None:
    bomb = gzip.compress(b" " * (32 * PART), 1)
    head = f"200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}"
    server.flood = Flood(head, bomb)
    assert "more than 16 MB" in (await failure(way, server, tmp_path)).message


@each_way
async def test_no_more_than_64_kilobytes_of_an_error_are_read(
    server: ScriptedServer, tmp_path: Path, way: str
) -> None:
    server.flood = flood = Flood("503 No", b"overloaded " * (PART // 11), 100)
    started = time.process_time()
    error = await failure(way, server, tmp_path)
    assert (error.status, error.kind) == (503, "transient")
    assert "overloaded" in error.message
    assert flood.sent < 24 * PART
    assert time.process_time() - started < 5


@each_way
async def test_a_redirect_is_not_followed_and_says_what_to_set(
    server: ScriptedServer, tmp_path: Path, way: str
) -> None:
    with ScriptedServer([]) as other:
        other.flood = seen = Flood("200 OK", b"{}")
        for status in (301, 302, 303, 307, 308):
            location = f"{status} Moved\r\nLocation: {other.base_url}\r\nContent-Length: 0"
            server.flood = Flood(location)
            error = await failure(way, server, tmp_path)
            assert error.kind == "rejected"
            assert "base_url" in error.message
            assert KEY not in error.message
    assert not seen.sent


@each_way
async def test_an_answer_without_end_ends_by_the_time_out(
    server: ScriptedServer, tmp_path: Path, way: str
) -> None:
    server.flood = Flood("200 OK", b" ", 1_000, pause_s=0.1)
    started = time.monotonic()
    error = await failure(way, server, tmp_path, timeout_s=0.3)
    assert time.monotonic() - started < 60
    assert error.status == 408
