"""The pairs that one judge works on at once, between the queue and the agents."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from infra.errors import BudgetExhaustedError, LanguageModelError, ModelUnavailableError
from infra.records import Annotation, Pair
from tasks.runtime.pair_queue import Work

_COLLECTING_S = 0.02  # annotations that finish within so long are sent together
_ASKING_S = 0.2  # between questions for pairs while none finishes


class PairSource(Protocol):
    """Where a judge gets pairs and leaves annotations."""

    async def exchange(self, finished: Sequence[Annotation], *, wants: bool) -> Work:
        """Take annotations; return pairs to judge.

        Args:
            finished: What the judge has finished since its last call.
            wants: Whether it wants more pairs.
        """
        ...


class FailureCounter:
    """Counter of failed pairs, which stops the judge if too many fail in a row."""

    def __init__(self, allowed_in_a_row: int) -> None:
        self.failed = 0
        self._in_a_row = 0
        self._allowed = allowed_in_a_row

    def count(self, annotation: Annotation) -> None:
        """Count an annotation.

        Raises:
            ModelUnavailableError: Too many pairs failed in a row.
        """
        if annotation.status != "failed":
            self._in_a_row = 0
            return
        self.failed += 1
        self._in_a_row += 1
        if self._in_a_row >= self._allowed:
            raise ModelUnavailableError(
                f"{self._in_a_row} pairs failed in a row, the last one with: {annotation.reason}; "
                "finished pairs are stored: remove the cause and run the same command again"
            )


class Desk:
    """The pairs that one judge works on at once.

    Args:
        annotate: Judges one pair.
        source: Hands out pairs and takes annotations.
        counter: Counts the failed ones.
        deadline: When no more pairs are taken, by ``time.monotonic``.
        limit: Sets requests a minute and budget instead of the settings'.
    """

    def __init__(
        self,
        annotate: Callable[[Pair], Awaitable[Annotation]],
        source: PairSource,
        counter: FailureCounter,
        deadline: float,
        limit: Callable[[int | None, float | None], None],
    ) -> None:
        self._annotate = annotate
        self._source = source
        self._counter = counter
        self._deadline = deadline
        self._limit = limit
        self._reserve: deque[Pair] = deque()
        self._places = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._finished: list[Annotation] = []
        self._has_news = asyncio.Event()
        self._budget_error: BudgetExhaustedError | None = None
        self._error: LanguageModelError | None = None

    async def work(self, grace_s: float) -> int:
        """Judge pairs until no more come; return how many failed. For errors see `judge_all`.

        Args:
            grace_s: How long after an error requests in flight, which are paid, may take.
        """
        try:
            while self._error is None and await self._exchange():
                await self._wait_for_news()
            if self._tasks:  # after an error
                await asyncio.wait(self._tasks, timeout=grace_s)
        finally:
            self._reserve.clear()
            for running in self._tasks:
                running.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._finished:
                await self._source.exchange(self._finished, wants=False)
        if error := self._error or self._budget_error:
            raise error
        return self._counter.failed

    async def _exchange(self) -> bool:
        """Send what is finished and start on new pairs; return whether anything is left to do."""
        finished, self._finished = self._finished, []
        wants = self._budget_error is None and time.monotonic() < self._deadline
        work = await self._source.exchange(finished, wants=wants)
        self._limit(*work.limits)
        self._reserve += work.pairs
        self._places = work.places
        self._start()
        is_closed = work.is_ended and not work.places  # what it has in reserve others judge later
        is_at_work = bool(self._tasks or self._finished or (self._reserve and not is_closed))
        return is_at_work or (wants and not work.is_ended)

    def _start(self) -> None:
        """Start on as many pairs of the reserve as there are places for."""
        if self._error or self._budget_error:
            self._reserve.clear()
        while self._reserve and len(self._tasks) < self._places:
            running = asyncio.create_task(self._judge(self._reserve.popleft()))
            self._tasks.add(running)
            running.add_done_callback(self._end)

    def _end(self, running: asyncio.Task[None]) -> None:
        self._tasks.discard(running)
        self._start()

    async def _judge(self, pair: Pair) -> None:
        try:
            annotation = await self._annotate(pair)
            self._finished.append(annotation)
            self._counter.count(annotation)
        except BudgetExhaustedError as error:  # requests in flight are paid: let them finish
            self._budget_error = self._budget_error or error
        except LanguageModelError as error:
            self._error = self._error or error
        finally:
            self._has_news.set()

    async def _wait_for_news(self) -> None:
        """Wait until some pairs are finished, or for a while."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), _ASKING_S)
            await asyncio.sleep(_COLLECTING_S)
        self._has_news.clear()
