"""The judge: a task on a Ray worker that judges pairs from the queue, many at once."""

import asyncio
import contextlib
import math
import socket
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from prefect import task

from agents import Committee, Endpoint, build_committee
from agents.committee.paths import AnnotationPath
from infra.errors import (
    BudgetExhaustedError,
    LanguageModelError,
    ModelUnavailableError,
    SettingsError,
)
from infra.records import Annotation, Pair
from infra.settings import Settings
from sandbox.backends import make_sandbox
from tasks.runtime.pair_queue import Work
from tasks.runtime.references import RecipeReference
from tasks.runtime.run_logger import libraries_logged, run_logger

if TYPE_CHECKING:
    from tasks.runtime.ray_queue import RayPairQueue

ENDS_ALL = (LanguageModelError, SettingsError)
"""Errors that every judge would meet."""

_REASON_CHARACTERS = 500
_LIFETIME_S = 1_800.0  # then another judge takes over, with all of Ray's retries before it
_COLLECTING_S = 0.02  # annotations that finish within so long are sent together
_ASKING_S = 0.2  # between questions for pairs while none finishes

_worker_loop = asyncio.Runner()  # one loop for all judges of a worker's process


class PairSource(Protocol):
    """Where a judge gets pairs and leaves annotations."""

    async def exchange(self, finished: Sequence[Annotation], *, wants: bool) -> Work:
        """Take annotations; return pairs to judge.

        Args:
            finished: What the judge has finished since its last call.
            wants: Whether it wants more pairs.
        """
        ...


@task(
    name="judge",
    task_run_name="judge {number}, asking {recipe.model}",
    tags=["annotate"],
    retries=1,
    retry_delay_seconds=5,
    retry_condition_fn=lambda _task, _run, state: _is_retryable(state),
)
def judge(
    number: int,
    settings: Settings,
    recipe: RecipeReference,
    queue: "RayPairQueue",
    endpoint: Endpoint | None,
    mark: Path,
) -> int:
    """Judge pairs from the queue on a worker, until none is left or half an hour has passed.

    Started again after an error or the loss of its process, it begins with what it held before.

    Args:
        number: The judge's number.
        settings: The agents, their model, the sandbox and the store's folder.
        recipe: The recipe of these settings.
        queue: Where pairs come from.
        endpoint: Address and key of the model instead of the settings'.
        mark: A file in the store's folder, which is there as long as the run lasts.

    Returns:
        How many pairs failed.

    Raises:
        SettingsError: This machine does not see the store's folder.
        ModelRefusedError: The key, the model's name or the request is wrong.
        BudgetExhaustedError: The budget for the model is spent.
        ModelUnavailableError: Too many pairs failed in a row.
    """
    if not mark.is_file():
        raise SettingsError(
            f"{socket.gethostname()} does not see the store in {mark.parent}, where all judges "
            "keep replies, budgets and batches: keep the store (--store) on storage that all "
            "machines of the Ray cluster mount under one path, or unset RAY_ADDRESS"
        )
    with libraries_logged(__name__):
        failed = judge_on_worker(queue.as_judge(number), settings, recipe, endpoint)
        run_logger(__name__).info("judge %s has ended; %s pairs failed", number, failed)
    return failed


def judge_on_worker(
    source: PairSource, settings: Settings, recipe: RecipeReference, endpoint: Endpoint | None
) -> int:
    """Judge pairs on the worker's event loop, see `judge_all`.

    Ray pickles the task's function by value, with copies of its globals. This function is imported
    on the worker, so that all judges of a process share one event loop.
    """
    return _worker_loop.run(judge_all(source, settings, recipe, endpoint, _LIFETIME_S))


def _is_retryable(state: object) -> bool:
    """Return whether a failed judge is to be retried: after any error that may pass."""
    data = getattr(state, "data", None)
    error = data if isinstance(data, Exception) else getattr(data, "exception", None)
    return not isinstance(error, ENDS_ALL)


async def judge_all(
    source: PairSource,
    settings: Settings,
    recipe: RecipeReference,
    endpoint: Endpoint | None,
    lifetime_s: float = math.inf,
) -> int:
    """Judge pairs from a source, as many at once as it hands out; return how many failed.

    Args:
        source: Hands out pairs and takes annotations.
        settings: The agents, their model and the sandbox.
        recipe: The recipe of these settings.
        endpoint: Address and key of the model instead of the settings'.
        lifetime_s: After so many seconds no more pairs are taken.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        ModelUnavailableError: Too many pairs failed in a row.
        BudgetExhaustedError: The budget for the model is spent.
    """
    sandbox = make_sandbox(settings.sandbox)
    committee = build_committee(
        settings, recipe.recipe_id, sandbox, endpoint, recipe.asks_as,
        by_batch=settings.annotation.batch,
    )  # fmt: skip

    async def annotate(pair: Pair) -> Annotation:
        return await _annotation_of(pair, committee, recipe)

    counter = _FailureCounter(settings.annotation.stop_after_failures)
    try:
        ends_at = time.monotonic() + lifetime_s
        return await _Desk(annotate, source, counter, ends_at, committee.limit).work(
            settings.llm.timeout_s
        )
    finally:
        await committee.close()
        await sandbox.close()


class _Desk:
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
        counter: "_FailureCounter",
        deadline: float,
        limit: Callable[[int | None, float | None], None],
    ) -> None:
        self._annotate = annotate
        self._source = source
        self._counter = counter
        self._deadline = deadline
        self._limit = limit
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
        for pair in work.pairs:
            running = asyncio.create_task(self._judge(pair))
            self._tasks.add(running)
            running.add_done_callback(self._tasks.discard)
        return bool(self._tasks or self._finished) or (wants and not work.is_ended)

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


async def _annotation_of(pair: Pair, committee: Committee, recipe: RecipeReference) -> Annotation:
    """Return the committee's annotation; after an unexpected error, one with status failed.

    Raises:
        LanguageModelError: The model refuses every request, or the budget is spent.
    """
    try:
        return await committee.judge(pair)
    except LanguageModelError:
        raise
    except Exception as error:  # noqa: BLE001 - one pair must not fail the others
        run_logger(__name__).exception("query %s, code %s could not be judged", *pair.key)
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=recipe.recipe_id,
            demo=recipe.demo,
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=_error_text(error),
        )


def _error_text(error: Exception) -> str:
    """Return an exception's type and message, shortened, as text that can be stored."""
    text = traceback.format_exception_only(error)[-1].strip()
    return text[:_REASON_CHARACTERS].encode(errors="backslashreplace").decode()


class _FailureCounter:
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
