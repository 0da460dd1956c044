"""Laws of how many requests are on the wire, by a server whose clock is turned by the test."""

import asyncio
import heapq
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from agents.llm.ledger import JournalLedger, journal_ledger
from agents.llm.limiter import Limiter
from agents.llm.reply import RawReply
from agents.llm.retry import RequestError
from infra.settings import LanguageModelSettings, StoreSettings
from tests.fakes.modules import with_others

SETTINGS = LanguageModelSettings(model="openai/x", base_url="http://127.0.0.1:8799/v1")


class World:
    """A server of some slots, with a queue, and the requests that a limiter lets it have.

    Args:
        slots: Requests that it computes at once.
        seconds: Returns how long a reply takes that begins now.
        room: Requests that are not refused at once with a 429.
    """

    def __init__(
        self, slots: int, seconds: Callable[[float], float] = lambda _: 4.0, room: int = 10**6
    ) -> None:
        self.now, self.most, self.refused, self._room = 1_000.0, 0, 0, room
        self.limiter = Limiter(SETTINGS)
        self._slots, self._seconds = slots, seconds
        self._numbers, self._queue = count(), list[int]()
        self._computed: list[tuple[float, int]] = []

    def monotonic(self) -> float:
        return self.now

    def judge(self, replies: int, at_once: int = 64) -> None:
        """Let a number of replies come, with as many requests as may be sent."""
        for _ in range(replies):
            while self.on_the_wire < at_once and self.limiter.enter_now(
                number := next(self._numbers)
            ):
                if self.on_the_wire >= self._room:
                    self.now, self.refused = self.now + 0.01, self.refused + 1
                    self.limiter.leave(number, is_reply=False, failure=RequestError(429, "busy"))
                    continue
                self._queue.append(number)
                self._compute()
                self.most = max(self.most, self.on_the_wire)
            self.now, ended = heapq.heappop(self._computed)
            self._compute()
            self.limiter.leave(ended, is_reply=True)

    @property
    def on_the_wire(self) -> int:
        return len(self._queue) + len(self._computed)

    def _compute(self) -> None:
        while self._queue and len(self._computed) < self._slots:
            ends = self.now + self._seconds(self.now)
            heapq.heappush(self._computed, (ends, self._queue.pop(0)))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    def make(*given: object) -> World:
        made = World(*given)  # type: ignore[arg-type]
        monkeypatch.setattr("agents.llm.limiter.time", with_others(time, monotonic=made.monotonic))
        return made

    return make


@pytest.mark.parametrize("seconds", [4.0, 5.0])
def test_a_server_of_one_slot_gets_a_few_requests_beside_the_one_that_it_computes(
    world: Callable[..., World], seconds: float
) -> None:
    one = world(1, lambda _: seconds)
    one.judge(110)
    assert one.limiter.limit < one.most <= 18, "they come down where more bring no more"
    assert one.now == 1_000 + 110 * seconds, "it is never idle"
    assert one.most * seconds < SETTINGS.timeout_s, "no reply comes late"


@pytest.mark.parametrize("slots", [1, 4, 64, 256])
@pytest.mark.parametrize("seconds", [1.0, 4.0, 5.0])
def test_no_server_takes_longer_than_without_a_limit_but_for_two_rounds_of_replies(
    world: Callable[..., World], slots: int, seconds: float
) -> None:
    ends = []
    for limit in (6, 10**6):
        server = world(slots, lambda _: seconds)
        server.limiter.limit = limit
        server.judge(1_000)
        ends.append(server.now - 1_000)
    assert ends[0] <= 1.05 * ends[1] + 2 * seconds


def test_a_server_that_refuses_what_is_too_much_is_seldom_asked_for_it(
    world: Callable[..., World],
) -> None:
    server = world(64, lambda _: 1.0, 20)
    server.judge(1_000)
    assert 0 < server.refused < 0.15 * 1_000
    assert server.now < 1_000 + 2 * 1_000 / 20


@pytest.mark.parametrize(("slots", "at_once"), [(64, 64), (1_000, 256)])
def test_a_server_that_keeps_its_pace_gets_as_many_as_there_are(
    world: Callable[..., World], slots: int, at_once: int
) -> None:
    many = world(slots)
    many.judge(6 * at_once, at_once)
    assert many.most == at_once
    assert many.now <= 1_000 + 4 * (6 + 4), "after four rounds of replies at most"


def test_of_a_server_of_some_slots_none_stands_empty(world: Callable[..., World]) -> None:
    eight = world(8)
    eight.judge(400)
    assert eight.now <= 1_000 + 4 * (400 / 8 + 2)
    assert eight.limiter.limit >= 8


def test_slots_that_a_server_gets_later_are_used(world: Callable[..., World]) -> None:
    one = world(1)
    one.judge(60)
    one._slots = 64
    one.judge(400)
    assert one.limiter.limit >= 64


def test_a_server_that_gets_ten_times_slower_is_no_outage(world: Callable[..., World]) -> None:
    slow = world(64, lambda now: 40.0 if 1_020 < now < 1_140 else 4.0)
    slow.judge(64 * 20)
    assert slow.limiter.limit >= 32
    assert slow.limiter.patience_s >= 100 * 4.0
    assert slow.now <= 1_000 + 4 * (20 + 2) + 120 + 40


@pytest.mark.parametrize("status", [408, 429, 503, 504])
def test_time_outs_and_overloads_halve_once_what_is_on_the_wire(
    world: Callable[..., World], status: int
) -> None:
    server = world(64)
    server.judge(300)
    limiter = server.limiter
    sent = [number for number in range(10_000, 10_400) if limiter.enter_now(number)]
    on_the_wire = server.on_the_wire + len(sent)
    for number in sent[-32:]:
        limiter.leave(number, is_reply=False, failure=RequestError(status, "busy"))
    assert limiter.limit in {on_the_wire // 2 - each for each in range(17)}
    assert not limiter.trouble, "a moment is none"


def test_a_server_that_is_away_is_asked_by_one_request_at_a_time_and_told(
    world: Callable[..., World],
) -> None:
    server = world(64)
    limiter = server.limiter
    away = RequestError(500, "ClientConnectorError: no\x1b[31m")
    tries = 0
    while not limiter.is_away:
        if limiter.enter_now(tries):
            server.now += 0.01
            limiter.leave(tries, is_reply=False, failure=away)
            tries += 1
            told = limiter.trouble
        server.now += 0.5
    assert tries == SETTINGS.max_retries + 1
    assert limiter.limit == 1
    assert 60 < server.now - 1_000 < 200, "an outage of a minute fails no pair"
    assert told.startswith("no answer from 127.0.0.1:8799 (ClientConnectorError), tried again")
    assert limiter.enter_now(tries), "a run that waits for nothing ends"
    limiter.leave(tries, is_reply=True)
    assert (limiter.trouble, limiter.is_away) == ("", False)


def test_all_wait_as_long_as_a_provider_asks_for(world: Callable[..., World]) -> None:
    server = world(64)
    assert server.limiter.enter_now(1)
    failure = RequestError(429, "slow down", retry_after="20")
    server.limiter.leave(1, is_reply=False, failure=failure)
    assert server.limiter.trouble == "127.0.0.1:8799 asks to wait (429), tried again in 20 s"
    assert not server.limiter.enter_now(2)
    server.now += 20.1
    assert server.limiter.enter_now(2)


def test_silence_is_told(world: Callable[..., World]) -> None:
    server = world(1)
    assert server.limiter.enter_now(1)
    assert server.limiter.trouble == ""
    server.now += 45
    assert server.limiter.trouble == "no reply from 127.0.0.1:8799 for 45 s"


def ledger(folder: Path, **settings: object) -> JournalLedger:
    llm = LanguageModelSettings.model_validate({"model": "openai/x", **settings})
    return journal_ledger(StoreSettings(folder=folder), llm)


async def test_a_reply_that_takes_longer_than_the_time_out_is_waited_for_at_its_pace(
    tmp_path: Path,
) -> None:
    book, ends = ledger(tmp_path, timeout_s=0.001), asyncio.Event()

    async def request() -> str:
        await ends.wait()
        return "said"

    async with book.reserved(10, None) as commit:
        await asyncio.sleep(0.05)
        await commit(5, 0.0, [("ab", RawReply(text="another"))])
    assert book.patience() >= 5
    waiting = asyncio.create_task(book.wait_for(request()))
    await asyncio.sleep(0.1)
    assert not waiting.done(), "the time-out, but no hundred replies, have passed"
    ends.set()
    assert await waiting == "said"


async def test_a_request_without_a_reply_is_lost_after_fifteen_time_outs(tmp_path: Path) -> None:
    never = asyncio.Event()
    with pytest.raises(RequestError, match="no reply in") as lost:
        await ledger(tmp_path, timeout_s=0.01).wait_for(never.wait())
    assert (lost.value.status, lost.value.may_be_billed) == (408, True)


async def test_a_request_that_is_cancelled_in_the_line_takes_no_place(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    made = [await book.reserve(10) for _ in range(6)]
    sent = [await book.wait_for_rate_limit(each) for each in made[:4]]
    waiting = asyncio.create_task(book.wait_for_rate_limit(made[4]))
    await asyncio.sleep(0)
    await book.commit(made[4], 0, 0.0)  # its worker gives it back, and the owner's call goes on
    await book.commit(sent[0], 5, 0.0)
    await waiting
    assert (await book.wait_for_rate_limit(made[5])).has_turn
