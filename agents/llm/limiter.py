"""The limiter of concurrent requests and their time-outs, which follow a server's own pace.

Few at first, then three times as many with each round of replies, while that brings more of them a
second. Where it brings none, as replies then wait in the server's queue, it is taken back, and
smaller steps are tried, up and down, from time to time. A time-out, 429 or 503 halves the number.
"""

import asyncio
import math
import time
from contextlib import suppress
from urllib.parse import urlsplit

from agents.llm.price_list import provider_of
from agents.llm.retry import RequestError, backoff_s
from infra.settings import LanguageModelSettings

_FIRST = 6  # requests on the wire, and the fewest: while one is answered, the next is there
_FIRST_STEP, _STEP = 3.0, 1.8  # times as many, or as few after the first that was none
_GAIN = 0.2  # power of a step: it is worth so many times the replies a second, or costs no more
_REST, _LONG_REST = 3, 12  # rounds of replies until the next step; after an overload
_OVERLOADED = {408, 429, 503, 504, 529}
_REPLIES = 16  # that the mean of their seconds is taken over
_FIRST_TIMES, _TIMES = 15, 100  # of the time-out before the first reply; of the mean reply then
_QUIET_S = 30.0  # without a reply, after which it is told


class Limiter:
    """The requests to one server that are on the wire at once.

    Args:
        settings: The model, its time-out, and how often and how late requests are repeated.

    Attributes:
        limit: How many may be.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        self.limit = _FIRST
        self._settings = settings
        self._sent: dict[int, tuple[float, int]] = {}  # request → when, how many were on the wire
        self._line, self._changed = asyncio.Lock(), asyncio.Event()
        self._round: list[tuple[float, int]] = []  # seconds of replies, requests on the wire
        self._before = 0  # the limit before the step that is tried; 0 for none
        self._step, self._rest, self._cost_s = _FIRST_STEP, 0, math.inf
        self._mean_s = 0.0
        self._turned_at = self._heard_at = self._resumes_at = 0.0
        self._failure: RequestError | None = None
        self._failures = 0  # in a row, each of a request that was sent after the one before

    @property
    def patience_s(self) -> float:
        """Seconds after which a request counts as lost."""
        least = self._settings.timeout_s
        return max(least, _TIMES * self._mean_s) if self._mean_s else _FIRST_TIMES * least

    @property
    def is_away(self) -> bool:
        """True if the server has not answered in so many tries as one request has."""
        return self._failures > self._settings.max_retries

    @property
    def trouble(self) -> str:
        """The obstacle of waiting requests; "" if they only wait for their turn."""
        now, address = time.monotonic(), urlsplit(self._settings.base_url or "").netloc
        server = address or provider_of(self._settings.model)
        if self._failure and (self._failures > 1 or self._resumes_at > now):
            name = self._failure.message.partition(":")[0]  # of an exception, or a text of any kind
            reason = name if name.isidentifier() else self._failure.status
            told = f"no answer from {server} ({reason})"
            if self._failure.status == 429:
                told = f"{server} asks to wait (429)"
            pause_s = self._resumes_at - now
            waits = "every few minutes" if self.is_away else f"in {max(1.0, pause_s):.0f} s"
            is_tried = self._sent and not self.is_away
            return f"{told}, {'asked now' if is_tried else f'tried again {waits}'}"
        sent_at = min((at for at, _ in self._sent.values()), default=now)
        quiet_s = now - max(sent_at, self._heard_at)
        return f"no reply from {server} for {quiet_s:.0f} s" if quiet_s > _QUIET_S else ""

    def enter_now(self, number: int) -> bool:
        """Return True if a request may be sent at once, which then counts as on the wire."""
        is_free = not self._line.locked() and self._has_room()
        if is_free:
            self.begin(number)
        return is_free

    async def enter(self, number: int) -> None:
        """Wait until a request may be sent, after those who wait already."""
        async with self._line:
            while not self._has_room():
                self._changed.clear()
                paused_s = self._resumes_at - time.monotonic()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), paused_s if paused_s > 0 else None)
            self.begin(number)

    def begin(self, number: int) -> None:
        """Count a request as sent now."""
        self._sent.pop(number, None)
        self._sent[number] = time.monotonic(), len(self._sent) + 1

    def leave(self, number: int, *, is_reply: bool, failure: RequestError | None = None) -> None:
        """Count a request as ended, if it is on the wire."""
        sent_at, places = self._sent.pop(number, (0.0, 0))
        if is_reply and places:
            self._learn(sent_at, places)
        elif failure and failure.kind == "transient" and sent_at > self._turned_at:
            # Fewer may be on the wire, and none for a while, as the failure tells.
            self._failures, self._failure = self._failures + 1, failure
            is_again = self._failures > 1
            if failure.status in _OVERLOADED or is_again:
                self._before, self._step, self._rest = 0, _FIRST_STEP, 0 if is_again else _LONG_REST
                self._turn(max(1, places // 2))
            if failure.retry_after or is_again:
                longest_s = self._settings.max_backoff_s
                pause_s = backoff_s(self._failures - 1, failure.retry_after, longest_s)
                self._resumes_at = time.monotonic() + pause_s
        self._changed.set()

    def _has_room(self) -> bool:
        is_paused = self._resumes_at > time.monotonic() and not self.is_away
        return not is_paused and len(self._sent) < self.limit

    def _learn(self, sent_at: float, places: int) -> None:
        """Take a step after a round of replies to what was sent after the last one."""
        self._failures, self._failure, self._resumes_at = 0, None, 0.0
        self._heard_at = now = time.monotonic()
        seconds = now - sent_at
        self._mean_s += (seconds - self._mean_s) / (_REPLIES if self._mean_s else 1)
        if sent_at >= self._turned_at:
            self._round.append((seconds, places))
        replies = max(self.limit, self._before)
        del self._round[:-replies]
        if len(self._round) < replies or max(each for _, each in self._round) < self.limit:
            return  # or fewer are wanted
        # The seconds for each reply of the server, also where some requests found fewer there.
        cost_s = sum(seconds for seconds, _ in self._round) / sum(each for _, each in self._round)
        if self._before and self._cost_s < cost_s * self._step**_GAIN:
            self._turn(self._before)
            self._step = 1 / _STEP if self._step == _STEP else _STEP
            self._before, self._rest = 0, _REST
        elif self._rest:
            self._rest -= 1
            self._turn(self.limit)
        else:
            self._before, self._cost_s = self.limit, cost_s
            self._turn(max(_FIRST, round(self.limit * self._step)))

    def _turn(self, limit: int) -> None:
        """Let so many be on the wire; what is there already tells nothing of that."""
        self.limit, self._turned_at = limit, time.monotonic()
        self._round.clear()
