"""The pairs that one judge works on at once, between the queue and the agents."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agents.committee.paths import AnnotationPath
from infra.errors import (
    BudgetExhaustedError,
    JudgingError,
    LanguageModelError,
    ModelUnavailableError,
)
from infra.ids import PairKey
from infra.records import Annotation, Pair
from tasks.runtime.pair_queue import Work

AWAY = (AnnotationPath.MODEL_UNAVAILABLE, AnnotationPath.SANDBOX_UNAVAILABLE)
"""Paths on which pairs fail by what passes."""

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

    async def leave(self, why: str) -> None:
        """Let other judges have the pairs.

        Args:
            why: What keeps this one from judging for a while.
        """
        ...


Ended = tuple[Pair, Annotation]


class FailureCounter:
    """Counts pairs that fail in a row, and keeps them while others are judged.

    So that pairs which failed because model or engine were away are not stored as failed: where
    too many do, the judge ends and those it still keeps are judged when it is tried again.
    """

    def __init__(self, allowed_in_a_row: int) -> None:
        self._in_a_row = 0
        self._row: list[Ended] = []
        self._allowed = allowed_in_a_row

    def count(self, pair: Pair, annotation: Annotation) -> list[Ended]:
        """Count an annotation; return those that need not be kept any longer.

        Raises:
            ModelUnavailableError: Too many pairs failed in a row, as the model or engine is away.
            JudgingError: They failed otherwise.
        """
        self._row.append((pair, annotation))
        if annotation.status != "failed":
            self._in_a_row = 0
            return self.rest()
        self._in_a_row += 1
        if self._in_a_row >= self._allowed:
            told = (
                f"{self._in_a_row} pairs failed in a row, the last one with: {annotation.reason}; "
                "finished pairs are stored: remove the cause and run the same command again"
            )
            if annotation.path not in AWAY:
                raise JudgingError(told)
            self._row.clear()
            raise ModelUnavailableError(told)
        return []

    def rest(self) -> list[Ended]:
        """Return the pairs that are kept, and keep them no longer."""
        row, self._row = self._row, []
        return row


class Desk:
    """The pairs that one judge works on at once.

    Args:
        annotate: Judges one pair.
        source: Hands out pairs and takes annotations.
        counter: Counts the failed ones.
        deadline: When no more pairs are taken, by ``time.monotonic``.
    """

    def __init__(
        self,
        annotate: Callable[[Pair], Awaitable[Annotation]],
        source: PairSource,
        counter: FailureCounter,
        deadline: float,
    ) -> None:
        self._annotate = annotate
        self._source = source
        self._counter = counter
        self._deadline = deadline
        self._reserve: deque[Pair] = deque()
        self._places = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._finished: list[Annotation] = []
        self._failed = 0
        self._later: list[Pair] = []
        self._judged_again: set[PairKey] = set()
        self._has_news = asyncio.Event()
        self._budget_error: BudgetExhaustedError | None = None
        self._error: LanguageModelError | JudgingError | None = None

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
            if not isinstance(self._error, ModelUnavailableError):
                self._finish([annotation for _, annotation in self._counter.rest()])
            if self._finished:
                await self._source.exchange(self._finished, wants=False)
            if isinstance(self._error, ModelUnavailableError):
                await self._source.leave(str(self._error))
        if error := self._error or self._budget_error:
            raise error
        return self._failed

    async def _exchange(self) -> bool:
        """Send what is finished and start on new pairs; return whether anything is left to do."""
        if not (self._tasks or self._reserve or self._error):  # else it would wait for a place
            self._take(self._counter.rest())
            self._reserve += self._later
            self._later.clear()
        finished, self._finished = self._finished, []
        wants = self._budget_error is None and time.monotonic() < self._deadline
        work = await self._source.exchange(finished, wants=wants)
        self._reserve += work.pairs
        self._places = work.places
        self._start()
        is_closed = work.is_ended and not work.places  # what it has in reserve others judge later
        is_at_work = bool(
            self._tasks or self._finished or ((self._reserve or self._later) and not is_closed)
        )
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
            if annotation.status == "failed" and pair.key in self._judged_again:
                self._finish([annotation])
            else:
                self._take(self._counter.count(pair, annotation))
        except BudgetExhaustedError as error:  # requests in flight are paid: let them finish
            self._budget_error = self._budget_error or error
        except (LanguageModelError, JudgingError) as error:
            self._error = self._error or error
        finally:
            self._has_news.set()

    def _take(self, ended: list[Ended]) -> None:
        """Finish pairs; those that failed by what passes are judged once more, after all others."""
        for pair, annotation in ended:
            if annotation.path in AWAY:
                self._judged_again.add(pair.key)
                self._later.append(pair)
            else:
                self._finish([annotation])

    def _finish(self, annotations: Sequence[Annotation]) -> None:
        self._finished += annotations
        self._failed += sum(annotation.status == "failed" for annotation in annotations)

    async def _wait_for_news(self) -> None:
        """Wait until some pairs are finished, or for a while."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._has_news.wait(), _ASKING_S)
            await asyncio.sleep(_COLLECTING_S)
        self._has_news.clear()
