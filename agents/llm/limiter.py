"""How many requests are on the wire at once, and how long each may take: by a server's own pace.

Few at first, and more while a doubling brings more replies a second; fewer where it brings none, as
replies then wait in the server's queue; half of them after a time-out, 429 or 503.
"""

import asyncio
import time
from contextlib import suppress
from urllib.parse import urlsplit

from agents.llm.price_list import provider_of
from agents.llm.retry import RequestError, backoff_s
from infra.settings import LanguageModelSettings

_FIRST, _LEAST = 4, 2  # requests on the wire: while one is answered, the next is there
_BY_A_REPLY = 2  # that are added for each reply in time, which makes three times as many a round
_GAINS, _IDLE = 0.8, 0.92  # of a reply's time at half as many: more is worth it; it is not
_REPLIES = 16  # that a mean is taken over, or as many as were on the wire
_FEW = 3  # replies, or half of those on the wire: fewer tell nothing
_ROUND = 8  # replies after which fewer may be on the wire again
_AGAIN = 2  # times as many replies as there are on the wire, after which more are tried again
_OVERLOADED = {408, 429, 503, 529}
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
        # Powers of 2 on the wire → the seconds of a reply, divided by that number, and replies.
        self._costs: dict[int, tuple[float, int]] = {}
        self._mean_s = 0.0
        self._turned_at = self._heard_at = self._resumes_at = 0.0
        self._since = 0  # replies to what was sent after the last turn
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
        """What requests wait for; "" for nothing but their turn."""
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
        is_full = len(self._sent) >= int(self.limit)
        sent_at, places = self._sent.pop(number, (0.0, 0))
        if is_reply and places:
            self._learn(sent_at, places, is_full=is_full)
        elif failure and failure.kind == "transient" and sent_at > self._turned_at:
            self._back_off(places, failure)
        self._changed.set()

    def _has_room(self) -> bool:
        is_paused = self._resumes_at > time.monotonic() and not self.is_away
        return not is_paused and len(self._sent) < int(self.limit)

    def _learn(self, sent_at: float, places: int, *, is_full: bool) -> None:
        """Let more or fewer be on the wire, as a reply tells."""
        self._failures, self._failure, self._resumes_at = 0, None, 0.0
        self._heard_at = now = time.monotonic()
        seconds, level = now - sent_at, places.bit_length() - 1
        self._mean_s += (seconds - self._mean_s) / (_REPLIES if self._mean_s else 1)
        cost, replies = self._costs.get(level, (0.0, 0))
        weight = 1 / min(replies + 1, max(_REPLIES, 2**level))
        self._costs[level] = cost + (seconds / places - cost) * weight, replies + 1
        here, above = self._gain(level), self._gain(level + 1)
        if not here and sent_at < self._turned_at:
            return  # it was sent into another queue
        self._since += 1
        if self._since > _AGAIN * 2**level:  # the server may have more slots by now
            self._costs.pop(level + 1, None)
        if here > _IDLE and not 0 < above < _GAINS and self._since >= max(_ROUND, 2**level):
            self._turn(max(_LEAST, 2**level - 1))
            self._costs.pop(level - 1, None)  # it is learnt anew
        elif is_full and (here < _GAINS or 0 < above < _GAINS):
            most = self.limit + _BY_A_REPLY
            self.limit = (
                most if above < _GAINS else min(most, max(self.limit, 2 ** (level + 1) - 1))
            )

    def _gain(self, level: int) -> float:
        """Return the time of a reply at a level, over that at the one below; 0 is unknown."""
        (cost, replies), (below, fewer) = (
            self._costs.get(each, (0.0, 0)) for each in (level, level - 1)
        )
        is_known = fewer >= min(_FEW, 2**level // 2) and replies >= max(_FEW, 2**level // 2)
        return cost / below if is_known and below else 0.0

    def _back_off(self, places: int, failure: RequestError) -> None:
        """Let fewer be on the wire, and none for a while, as a failure tells."""
        self._failures, self._failure = self._failures + 1, failure
        is_again = self._failures > 1
        if failure.status in _OVERLOADED or is_again:
            self._costs.clear()
            self._turn(max(1, places // 2))
        if failure.retry_after or is_again:
            longest_s = self._settings.max_backoff_s
            pause_s = backoff_s(self._failures - 1, failure.retry_after, longest_s)
            self._resumes_at = time.monotonic() + pause_s

    def _turn(self, limit: int) -> None:
        """Let fewer be on the wire; what is there already tells nothing of that."""
        self.limit, self._turned_at, self._since = limit, time.monotonic(), 0
